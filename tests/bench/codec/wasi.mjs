// Runs a program for WASI in Node.js: `node wasi.mjs PROGRAM.wasm [ARGUMENT …]`.
import { readFile } from "node:fs/promises";
import { WASI } from "node:wasi";

const [program, ...rest] = process.argv.slice(2);
const wasi = new WASI({ version: "preview1", args: [program, ...rest], env: {} });
const module = await WebAssembly.compile(await readFile(program));
wasi.start(await WebAssembly.instantiate(module, wasi.getImportObject()));
