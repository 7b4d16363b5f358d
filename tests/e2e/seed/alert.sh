curl http://localhost:8080/api/workers | \
  jq '.workers | length as $total | map(select(.state == "OFFLINE")) | length as $offline | 
      if ($offline / $total) > 0.05 then "ALERT: High offline ratio" else "OK" end'
