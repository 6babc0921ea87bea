// What a model takes, read from its contract.
import { json } from "../api.js";

/** loadModels answers the names of all models and the contract of the default one. */
export async function loadModels() {
  const [list, standard] = await Promise.all([json("GET", "/v1/models"), loadContract()]);
  const names = list.data.map((model) => model.id);
  names.sort((a, b) => (b === standard.name) - (a === standard.name));
  return { names, standard };
}

/** loadContract answers the contract of a model, the default one without a name. */
export async function loadContract(model) {
  const query = model ? `?model=${encodeURIComponent(model)}` : "";
  const metadata = await json("GET", `/v1/service/metadata${query}`);
  const tasks = metadata.task_contracts;
  const task = tasks.t2v ?? tasks[metadata.task] ?? Object.values(tasks)[0];
  return {
    name: metadata.pipeline_name,
    tasks: new Set(metadata.supported_tasks),
    parameters: task?.parameters ?? {},
    takesPicture: Object.values(tasks).some((one) => [...one.required_inputs, ...one.optional_inputs].includes("input_reference")),
    needsPicture: !tasks.t2v && Boolean(tasks.i2v),
    livekitURL: metadata.livekit_url ?? null,
  };
}

const presets = ["832x480", "480x832", "1280x720", "720x1280", "1920x1080", "1024x1024", "640x360", "512x512"];

/** sizes are the usual sizes that the contract allows. */
export function sizes(contract) {
  const { width, height } = contract.parameters;
  const within = (value, rule) => !rule || ((rule.minimum ?? 0) <= value && value <= (rule.maximum ?? Infinity));
  return presets.filter((size) => {
    const [w, h] = size.split("x").map(Number);
    return within(w, width) && within(h, height);
  });
}

/** own are the parameters that are the pipeline's, beside those that every video has; those of live sessions alone are not exposed. */
export function own(contract, live = false) {
  const common = new Set(["prompt", "model", "size", "width", "height", "seconds", "num_frames", "fps", "seed", "n", "aspect_ratio", "input_reference", "metadata"]);
  return Object.entries(contract.parameters).filter(([name, rule]) => (rule.exposed || live) && !common.has(name));
}
