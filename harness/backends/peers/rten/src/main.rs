//! rten: its ONNX loader without graph optimization, as the node is stated.

#[path = "../../shared/protocol.rs"]
mod protocol;

use rten::{ModelOptions, Value};
use rten_tensor::prelude::*;

fn bytes_of<const N: usize, T: Copy>(values: Vec<T>, bytes: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    values.into_iter().flat_map(bytes).collect()
}

fn tensor_of(output: Value) -> Result<Vec<u8>, String> {
    Ok(match output {
        Value::FloatTensor(y) => protocol::tensor(1, &y.shape().to_vec(), &bytes_of(y.to_vec(), f32::to_le_bytes)),
        Value::UInt8Tensor(y) => protocol::tensor(2, &y.shape().to_vec(), &bytes_of(y.to_vec(), u8::to_le_bytes)),
        Value::Int8Tensor(y) => protocol::tensor(3, &y.shape().to_vec(), &bytes_of(y.to_vec(), i8::to_le_bytes)),
        Value::Int32Tensor(y) => protocol::tensor(6, &y.shape().to_vec(), &bytes_of(y.to_vec(), i32::to_le_bytes)),
        _ => return Err("an output of another type".to_string()),
    })
}

fn answer(case: Vec<u8>) -> Result<Vec<Vec<u8>>, String> {
    let mut options = ModelOptions::with_all_ops();
    options.enable_optimization(false);
    let model = options.load(case).map_err(|error| error.to_string())?;
    let outputs = model.run(vec![], model.output_ids(), None).map_err(|error| error.to_string())?;
    outputs.into_iter().map(tensor_of).collect()
}

fn main() {
    std::env::set_var("RTEN_NUM_THREADS", "1");
    protocol::serve("rten", &["units", "pinned threads=1", "pinned precision=float32"], answer);
}
