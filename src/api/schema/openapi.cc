#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "api/router.h"
#include "api/routes.h"
#include "api/schema/schema.h"
#include "codec/json_writer.h"

namespace vortex::api {

namespace {

using codec::JsonWriter;

void write_ref(JsonWriter& json, std::string_view schema) {
  json.begin_object().field("$ref", fmt::format("#/components/schemas/{}", schema)).end_object();
}

void write_values(JsonWriter& json, Names values) {
  if (values.empty()) return;
  json.key("enum").begin_array();
  for (const std::string_view value : values) json.text(value);
  json.end_array();
}

void write_type(JsonWriter& json, std::string_view name, bool null_too) {
  json.key("type");
  if (!null_too) {
    json.text(name);
    return;
  }
  json.begin_array().text(name).text("null").end_array();
}

void write_map(JsonWriter& json, std::string_view of, bool null_too) {
  write_type(json, "object", null_too);
  json.key("additionalProperties").begin_object().field("type", of).end_object();
}

void write_typed(JsonWriter& json, const Field& field) {
  const bool null_too = may_be_null(field);
  switch (field.type) {
    case Type::kText:
      write_type(json, "string", null_too);
      // With null allowed the list would have to hold it too.
      if (!null_too) write_values(json, field.values);
      break;
    case Type::kInteger:
      write_type(json, "integer", null_too);
      break;
    case Type::kBoolean:
      write_type(json, "boolean", null_too);
      break;
    case Type::kTime:
      write_type(json, "string", null_too);
      json.field("format", "date-time");
      break;
    case Type::kTextMap:
      write_map(json, "string", null_too);
      break;
    case Type::kCountMap:
      write_map(json, "integer", null_too);
      break;
    case Type::kTextList:
      write_type(json, "array", null_too);
      json.key("items").begin_object().field("type", "string").end_object();
      break;
    case Type::kObject:
      json.key("anyOf").begin_array();
      write_ref(json, field.of);
      if (null_too) json.begin_object().field("type", "null").end_object();
      json.end_array();
      break;
    case Type::kObjectList:
      write_type(json, "array", null_too);
      json.key("items");
      write_ref(json, field.of);
      break;
    case Type::kAny:
      break;
  }
}

void write_field(JsonWriter& json, const Field& field) {
  json.key(field.name).begin_object();
  write_typed(json, field);
  json.field("description", field.doc).end_object();
}

// A schema that has another one's fields lists them all: generators handle that best.
std::vector<Field> fields_of(const Schema& schema) {
  std::vector<Field> fields;
  if (!schema.base.empty()) fields = fields_of(*find_schema(schema.base));
  fields.insert(fields.end(), schema.fields.begin(), schema.fields.end());
  return fields;
}

void write_schema(JsonWriter& json, const Schema& schema) {
  const std::vector<Field> fields = fields_of(schema);
  json.key(schema.name).begin_object().field("type", "object").field("description", schema.doc);
  json.key("properties").begin_object();
  for (const Field& field : fields) write_field(json, field);
  json.end_object().key("required").begin_array();
  for (const Field& field : fields) {
    if (!may_be_absent(field)) json.text(field.name);
  }
  json.end_array().field("additionalProperties", schema.open).end_object();
}

std::string_view type_name(Type type) {
  if (type == Type::kInteger) return "integer";
  return type == Type::kBoolean ? "boolean" : "string";
}

void write_query_param(JsonWriter& json, const QueryParam& param) {
  json.begin_object().field("name", param.name).field("in", "query");
  json.field("required", param.required).field("description", param.doc);
  json.key("schema").begin_object().field("type", type_name(param.type));
  write_values(json, param.values);
  json.end_object().end_object();
}

void write_path_params(JsonWriter& json, std::string_view path) {
  for (auto at = path.find('{'); at != std::string_view::npos; at = path.find('{', at + 1)) {
    const std::string_view name = path.substr(at + 1, path.find('}', at) - at - 1);
    const bool number = param_kind(name) == ParamKind::kNumber;
    json.begin_object().field("name", name).field("in", "path").field("required", true);
    json.key("schema").begin_object().field("type", number ? "integer" : "string").end_object();
    json.end_object();
  }
}

void write_parameters(JsonWriter& json, const Route& route) {
  json.key("parameters").begin_array();
  write_path_params(json, route.path);
  for (const QueryParam& param : route.query) write_query_param(json, param);
  if (route.keyed) {
    json.begin_object().field("name", "Idempotency-Key").field("in", "header");
    json.field("required", false)
        .field("description", "identifies this request, at most 256 bytes");
    json.key("schema").begin_object().field("type", "string").end_object().end_object();
  }
  json.end_array();
}

void write_content(JsonWriter& json, std::string_view type, std::string_view schema) {
  json.key(type).begin_object().key("schema");
  if (schema.empty())
    json.begin_object().field("type", "string").end_object();
  else
    write_ref(json, schema);
  json.end_object();
}

void write_answer(JsonWriter& json, const Route& route) {
  json.key(fmt::to_string(route.success)).begin_object();
  json.field("description", route.success == 204 ? "Done" : "The response");
  if (route.success != 204) {
    json.key("content").begin_object();
    const bool is_text = route.answer_type != "application/json";
    if (is_text) write_content(json, "text/plain", {});
    if (!route.answer_schema.empty()) write_content(json, "application/json", route.answer_schema);
    if (route.answer_schema == "EventPage") write_content(json, "text/event-stream", {});
    json.end_object();
  }
  json.end_object();
}

void write_operation(JsonWriter& json, const Route& route) {
  std::string method(net::to_text(route.method));
  std::ranges::transform(method, method.begin(), [](char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  });
  json.key(method).begin_object().field("operationId", route.id).field("summary", route.summary);
  json.field("x-vortex-role", to_text(route.need));
  write_parameters(json, route);
  if (route.body != Body::kNone) {
    const bool raw = route.body == Body::kRaw;
    json.key("requestBody")
        .begin_object()
        .field("required", route.body_schema != "SubmitNamedRequest");
    json.key("content").begin_object();
    write_content(json, raw ? "application/octet-stream" : "application/json",
                  raw ? std::string_view{} : route.body_schema);
    json.end_object().end_object();
  }
  json.key("responses").begin_object();
  write_answer(json, route);
  json.key("default").begin_object().field("description", "The error");
  json.key("content").begin_object();
  write_content(json, "application/problem+json", "Problem");
  json.end_object().end_object().end_object();
  json.key("security").begin_array();
  if (route.need != Need::kAnyone) {
    json.begin_object().key("token").begin_array().end_array().end_object();
  }
  json.end_array().end_object();
}

void write_paths(JsonWriter& json) {
  std::vector<std::string_view> paths;
  for (const Route& route : all_routes()) {
    if (std::ranges::find(paths, route.path) == paths.end()) paths.push_back(route.path);
  }
  json.key("paths").begin_object();
  for (const std::string_view path : paths) {
    json.key(path).begin_object();
    for (const Route& route : all_routes()) {
      if (route.path == path) write_operation(json, route);
    }
    json.end_object();
  }
  json.end_object();
}

}  // namespace

std::string openapi_json(std::string_view version) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().field("openapi", "3.1.0").key("info").begin_object();
  json.field("title", "vortex").field("version", version);
  json.field("description", "Runs DAGs of commands on workers and loses no work when parts fail.");
  json.end_object();
  write_paths(json);
  json.key("components").begin_object().key("schemas").begin_object();
  for (const Schema& schema : all_schemas()) write_schema(json, schema);
  json.end_object().key("securitySchemes").begin_object().key("token").begin_object();
  json.field("type", "http").field("scheme", "bearer").end_object().end_object().end_object();
  json.end_object();
  return out;
}

}  // namespace vortex::api
