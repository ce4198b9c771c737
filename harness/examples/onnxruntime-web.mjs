// ONNX Runtime's WebAssembly build as a backend: any case, in Node.js.
//
//     scripts/get-onnxruntime --web
//     qconform run --backend "process:node harness/examples/onnxruntime-web.mjs"
//
// An argument names another folder than build/onnxruntime-web. It holds ort.wasm.bundle.min.mjs and
// ort-wasm-simd-threaded.wasm of the npm package onnxruntime-web.

import { readFileSync, readSync, writeSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { resolve } from 'node:path';

const kProtocol = 1;
const kHeader = 12;
const folder = resolve(process.argv[2] ?? fileURLToPath(new URL('../../build/onnxruntime-web', import.meta.url)));

// ONNX's number of an element type (TensorProto.DataType), by the runtime's name, and the bytes of an element;
// 4-bit types lie two to a byte.
const kTypes = {
  float32: [1, 4], uint8: [2, 1], int8: [3, 1], uint16: [4, 2], int16: [5, 2], int32: [6, 4], int64: [7, 8],
  float16: [10, 2], float64: [11, 8], uint32: [12, 4], uint64: [13, 8], uint4: [21, 0.5], int4: [22, 0.5],
};

// stdout is the protocol's: nothing else may write to it.
console.log = console.info = console.debug = console.error;

function read(size) {
  const bytes = Buffer.alloc(size);
  for (let have = 0; have < size;) {
    const count = readSync(0, bytes, have, size - have, null);
    if (count === 0) return null;
    have += count;
  }
  return bytes;
}

function put(kind, number, payload) {
  const header = Buffer.alloc(kHeader);
  header.write(kind, 0, 'latin1');
  header.writeUInt32LE(number, 4);
  header.writeUInt32LE(payload.length, 8);
  const bytes = Buffer.concat([header, payload]);
  for (let done = 0; done < bytes.length;) done += writeSync(1, bytes, done);
}

// Protobuf's numbers: seven bits to a byte, low ones first.
function varint(value) {
  const bytes = [];
  for (let rest = BigInt(value); ; rest >>= 7n) {
    if (rest < 128n) return Buffer.from([...bytes, Number(rest)]);
    bytes.push(Number(rest & 127n) | 128);
  }
}

// A TensorProto: dims (field 1), data_type (2), raw_data (9).
function tensorProto(type, dims, data) {
  const fields = dims.flatMap((dim) => [Buffer.from([0x08]), varint(dim)]);
  return Buffer.concat([...fields, Buffer.from([0x10]), varint(type), Buffer.from([0x4a]), varint(data.length), data]);
}

function outputOf(tensor) {
  const known = kTypes[tensor.type];
  if (known === undefined) throw new Error(`output of type ${tensor.type}`);
  const [type, width] = known;
  const size = Math.ceil(tensor.dims.reduce((product, dim) => product * dim, 1) * width);
  const { data } = tensor;
  return tensorProto(type, tensor.dims, Buffer.from(data.buffer, data.byteOffset, size));
}

async function compute(ort, model) {
  const session = await ort.InferenceSession.create(model, { graphOptimizationLevel: 'disabled' });
  try {
    const { y } = await session.run({});
    return outputOf(y);
  } finally {
    await session.release();
  }
}

const ort = await import(pathToFileURL(`${folder}/ort.wasm.bundle.min.mjs`));
ort.env.logLevel = 'fatal';
ort.env.wasm.numThreads = 1;
ort.env.wasm.wasmBinary = readFileSync(`${folder}/ort-wasm-simd-threaded.wasm`);

put('HELO', kProtocol, Buffer.from(`onnxruntime-web ${ort.env.versions.web}`));
for (let header = read(kHeader); header !== null; header = read(kHeader)) {
  const number = header.readUInt32LE(4);
  const model = read(header.readUInt32LE(8));
  try {
    put('DONE', number, await compute(ort, model));
  } catch (error) {
    put('SKIP', number, Buffer.from(String(error.message ?? error)));
  }
}
