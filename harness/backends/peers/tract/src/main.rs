//! tract: its ONNX front end, optimized; x is the model's input, everything else is constant.

#[path = "../../shared/protocol.rs"]
mod protocol;

use std::io::Cursor;
use tract_onnx::pb::tensor_proto::DataType;
use tract_onnx::pb::{type_proto, ModelProto, TensorProto, TypeProto, ValueInfoProto};
use tract_onnx::prelude::*;

/// Takes x out of the constants and makes it the graph's input.
fn feed(model: &mut ModelProto) -> TensorProto {
    let graph = model.graph.as_mut().unwrap();
    let name = graph.node[0].input[0].clone();
    let at = graph.initializer.iter().position(|tensor| tensor.name == name).unwrap();
    let x = graph.initializer.remove(at);
    let mut input = ValueInfoProto { name, ..Default::default() };
    input.r#type = Some(TypeProto {
        value: Some(type_proto::Value::TensorType(type_proto::Tensor { elem_type: x.data_type, shape: None })),
        ..Default::default()
    });
    graph.input.push(input);
    x
}

fn number_of(datum_type: DatumType) -> TractResult<DataType> {
    Ok(match datum_type.unquantized() {
        DatumType::U8 => DataType::Uint8,
        DatumType::I8 => DataType::Int8,
        DatumType::U16 => DataType::Uint16,
        DatumType::I16 => DataType::Int16,
        DatumType::I32 => DataType::Int32,
        DatumType::I64 => DataType::Int64,
        DatumType::F16 => DataType::Float16,
        DatumType::F32 => DataType::Float,
        DatumType::F64 => DataType::Double,
        other => return Err(TractError::msg(format!("an output of type {other:?}"))),
    })
}

fn answer(case: Vec<u8>) -> TractResult<Vec<Vec<u8>>> {
    let onnx = tract_onnx::onnx();
    let mut proto = onnx.proto_model_for_read(&mut Cursor::new(case))?;
    let x = tract_onnx::data_resolver::MmapDataResolver; // nothing of a case lies in other files
    let x = tract_onnx::tensor::load_tensor(&x, &feed(&mut proto), None)?;
    let fact = InferenceFact::dt_shape(x.datum_type(), x.shape());
    let model = onnx.model_for_proto_model(&proto)?.with_input_fact(0, fact)?;
    let outputs = model.into_optimized()?.into_runnable()?.run(tvec!(x.into()))?;
    let tensor_of = |y: TValue| {
        let y = y.into_tensor();
        Ok(protocol::tensor(number_of(y.datum_type())? as u64, y.shape(), y.as_bytes()))
    };
    outputs.into_iter().map(tensor_of).collect()
}

fn main() {
    // Without tract's feature multithread-mm, products of matrices have one thread.
    let lines = ["units", "pinned threads=1", "pinned precision=float32"];
    protocol::serve("tract", &lines, |case| answer(case).map_err(|error| format!("{error:#}").replace('\n', " ")));
}
