// The process protocol of docs/adding-a-backend.md, for peers in Rust.

use std::io::{Read, Write};

/// An output as a serialized TensorProto: ONNX's number of the type, the dimensions and the values in little endian.
pub fn tensor(data_type: u64, dims: &[usize], bytes: &[u8]) -> Vec<u8> {
    fn varint(out: &mut Vec<u8>, mut value: u64) {
        while value >= 0x80 {
            out.push(value as u8 | 0x80);
            value >>= 7;
        }
        out.push(value as u8);
    }
    let mut out = Vec::new();
    for &dim in dims {
        out.push(1 << 3); // field dims
        varint(&mut out, dim as u64);
    }
    out.push(2 << 3); // field data_type
    varint(&mut out, data_type);
    out.push(9 << 3 | 2); // field raw_data
    varint(&mut out, bytes.len() as u64);
    out.extend_from_slice(bytes);
    out
}

fn put(kind: &[u8; 4], number: u32, payload: &[u8]) {
    let mut out = std::io::stdout().lock();
    out.write_all(kind).unwrap();
    out.write_all(&number.to_le_bytes()).unwrap();
    out.write_all(&(payload.len() as u32).to_le_bytes()).unwrap();
    out.write_all(payload).unwrap();
    out.flush().unwrap();
}

/// Says hello as `title` with `lines` below (docs/adding-a-backend.md) and answers each case, a serialized ModelProto:
/// with its outputs, or with why there are none. A panic of the runtime is a refusal.
pub fn serve(
    title: &str,
    lines: &[&str],
    answer: impl Fn(Vec<u8>) -> Result<Vec<Vec<u8>>, String> + std::panic::RefUnwindSafe,
) {
    put(b"HELO", 1, [&[title], lines].concat().join("\n").as_bytes());
    let mut header = [0u8; 12];
    while std::io::stdin().read_exact(&mut header).is_ok() {
        let number = u32::from_le_bytes(header[4..8].try_into().unwrap());
        let mut model = vec![0u8; u32::from_le_bytes(header[8..12].try_into().unwrap()) as usize];
        std::io::stdin().read_exact(&mut model).unwrap();
        match std::panic::catch_unwind(|| answer(model)) {
            Ok(Ok(outputs)) => {
                for (i, output) in outputs.iter().enumerate() {
                    put(if i + 1 == outputs.len() { b"DONE" } else { b"PART" }, number, output);
                }
            }
            Ok(Err(reason)) => put(b"DENY", number, reason.as_bytes()),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
                put(b"DENY", number, format!("panic: {text}").as_bytes());
            }
        }
    }
}
