// Controls for the typed parameters of a contract.
import { field, h } from "../dom.js";

const title = (name) => name.replaceAll("_", " ").replace(/^./, (letter) => letter.toUpperCase());

/** control makes the field of one parameter. An empty value means that the parameter is absent. */
export function control(name, rule) {
  return field(title(name), input(name, rule), rule.description);
}

function input(name, rule) {
  const shared = { name, required: rule.required, "data-parameter": name };
  const usual = rule.default === null ? "default" : `${rule.default}`;
  if (rule.enum) return choice(shared, rule.enum, usual);
  switch (rule.type) {
    case "boolean":
      return choice(shared, ["true", "false"], usual);
    case "integer":
    case "number":
      return h("input", { ...shared, type: "number", inputMode: "decimal", step: rule.type === "integer" ? "1" : "any", min: text(rule.minimum), max: text(rule.maximum),
        placeholder: range(rule, usual) });
    case "object":
    case "array":
      return h("textarea", { ...shared, rows: 3, spellcheck: false, class: "mono", placeholder: name === "camera" ? '[{"at": 0, "keys": "w"}, {"at": 2, "keys": "wj"}]' : "JSON" });
  }
  return h("input", { ...shared, type: "text", maxLength: rule.max_length ?? 65536, placeholder: usual });
}

const text = (value) => (value === undefined || value === null ? "" : `${value}`);

function range(rule, usual) {
  if (rule.minimum === undefined || rule.maximum === undefined) return usual;
  return `${rule.minimum} to ${rule.maximum}${rule.default === null ? "" : `, ${usual}`}`;
}

function choice(shared, values, usual) {
  return h("select", shared, h("option", { value: "" }, title(usual)), ...values.map((value) => h("option", { value }, value)));
}
