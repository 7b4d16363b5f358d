#!/usr/bin/env bash
# tests/support/sanitizer_reports.sh clear|none FOLDER: where processes under test leave what a sanitizer
# found in them. `clear` empties the folder, before any other test; `none`, after all others, prints the
# reports and fails if there are any.
set -euo pipefail

folder="${2:?usage: sanitizer_reports.sh clear|none FOLDER}"
case "$1" in
  clear)
    rm -rf "$folder"
    # Tasks of other users write here as well.
    mkdir -m 1777 -p "$folder"
    ;;
  none)
    mapfile -t reports < <(find "$folder" -type f | sort)
    [[ ${#reports[@]} -eq 0 ]] && exit 0
    # One bug is often met many times.
    for report in "${reports[@]:0:5}"; do
      echo "--- $report"
      head -n 80 "$report"
    done
    echo "FAILED: ${#reports[@]} reports of a sanitizer in $folder"
    exit 1
    ;;
  *)
    echo "sanitizer_reports.sh: unknown command '$1'" >&2
    exit 2
    ;;
esac
