/** Six lines of Python that load a saved trace. No DOM; a test runs them. */

/** @param {{format: "safetensors"|"npz", file: string, name: string, head: number, what: string}} options @returns {string} */
export function snippet({ format, file, name, head, what }) {
  const end = [
    `weights = tensors[${JSON.stringify(name)}][${head}]  # ${what}: query × key`,
    'print([token["text"] for token in about["tokens"]], weights, sep="\\n")',
  ];
  return [...(format === "npz" ? npz(file) : safetensors(file)), ...end].join("\n");
}

function safetensors(file) {
  return [
    "import json, safetensors",
    `with safetensors.safe_open(${JSON.stringify(file)}, "np") as trace:`,
    '    about = json.loads(trace.metadata()["chumoku"])',
    "    tensors = {name: trace.get_tensor(name) for name in trace.keys()}",
  ];
}

function npz(file) {
  return [
    "import json, numpy",
    `tensors = numpy.load(${JSON.stringify(file)})`,
    'about = json.loads(str(tensors["__metadata__"]))',
    "print(tensors.files)",
  ];
}
