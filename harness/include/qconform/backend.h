/* The C interface between qconform and a kernel under test.
 *
 * Build a shared library that exports qconform_backend() and judge it:
 *
 *     cc -O2 -shared -fPIC -I harness/include my_kernel.c -o libmine.so
 *     qconform run --backend plugin:./libmine.so
 *
 * The library is loaded and run in a worker process. Whatever it does there (crash, exit, loop, read
 * or write outside its tensors) is found and told as the result of the case that it did it in.
 *
 * Everything that is passed in is valid during the call only, unless a line below says otherwise.
 * Every function is called from one thread at a time; under --threads-check, run() is called from several at
 * once with the same node and `prepared`, and has to give the same bytes in each. */
#ifndef QCONFORM_BACKEND_H
#define QCONFORM_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. Raised when anything in this file changes its meaning or layout. */
#define QC_ABI_VERSION 1

/* Element types, by their numbers in ONNX (TensorProto.DataType). Types of fewer than 8 bits are packed
 * as ONNX packs them: the first element in the low bits of the first byte. */
enum qc_type {
  QC_FLOAT32 = 1,
  QC_UINT8 = 2,
  QC_INT8 = 3,
  QC_UINT16 = 4,
  QC_INT16 = 5,
  QC_INT32 = 6,
  QC_INT64 = 7,
  QC_FLOAT16 = 10,
  QC_FLOAT64 = 11,
  QC_UINT32 = 12,
  QC_UINT64 = 13,
  QC_BFLOAT16 = 16,
  QC_FLOAT8E4M3FN = 17,
  QC_FLOAT8E4M3FNUZ = 18,
  QC_FLOAT8E5M2 = 19,
  QC_FLOAT8E5M2FNUZ = 20,
  QC_UINT4 = 21,
  QC_INT4 = 22,
  QC_FLOAT4E2M1 = 23,
  QC_FLOAT8E8M0 = 24,
  QC_UINT2 = 25,
  QC_INT2 = 26
};

/* What a call comes to. */
enum qc_status {
  QC_OK = 0,
  QC_UNSUPPORTED = 1, /* right, but not implemented: counted and listed, no failure */
  QC_REJECTED = 2     /* the node is wrong: the right answer to a node out of contract */
};

/* A tensor: row-major, little endian. */
struct qc_tensor {
  int32_t type;        /* enum qc_type, or another number of ONNX: check it */
  int32_t rank;        /* number of dimensions; 0 for a scalar */
  const int64_t* dims; /* `rank` of them, none negative */
  const void* data;    /* `bytes` bytes, aligned to the element size and to no more. Nothing around them
                          may be touched. Valid until release */
  size_t bytes;        /* ceil(elements * bits of the type / 8); may be 0 */
};

/* Which member of a qc_attribute holds its value. */
enum qc_attribute_kind { QC_INT = 1, QC_FLOAT = 2, QC_STRING = 3, QC_INTS = 4, QC_FLOATS = 5 };

/* An attribute of a node. Its kind need not be the one that the operator defines: check it. */
struct qc_attribute {
  const char* name;    /* "strides", as in ONNX */
  int32_t kind;        /* enum qc_attribute_kind */
  float f;             /* of QC_FLOAT */
  int64_t i;           /* of QC_INT */
  const char* s;       /* of QC_STRING; ends with a zero byte */
  size_t count;        /* values of QC_INTS or QC_FLOATS, bytes of QC_STRING without the zero */
  const int64_t* ints; /* of QC_INTS */
  const float* floats; /* of QC_FLOATS */
};

/* One operator node with its inputs. It may be wrong on purpose. Valid until release. */
struct qc_node {
  const char* op_type;                   /* "QLinearConv" */
  const char* domain;                    /* "" is ONNX's own */
  int64_t opset_version;                 /* of the domain's operator set that the node belongs to */
  size_t attribute_count;                /* attributes that are stated; others have ONNX's defaults */
  const struct qc_attribute* attributes; /* `attribute_count` of them */
  size_t input_count;                    /* inputs by position, omitted ones in between included */
  const struct qc_tensor* const* inputs; /* `input_count` of them; NULL for an omitted one */
};

/* Where the output goes. */
struct qc_output {
  void* context; /* to be passed to `allocate` */
  /* States the output's type and dimensions, which are judged too, and gives its memory: the bytes of a
   * dense tensor, aligned to the element size and to no more. Every byte has to be written, none around
   * them. To be called once in every run. NULL if that is no tensor qconform can hold: return then. */
  void* (*allocate)(void* context, int32_t type, int32_t rank, const int64_t* dims);
};

/* Room for a reason, one line that ends with a zero byte. Left empty, there is none. */
struct qc_reason {
  char* text;
  size_t size; /* bytes of `text`, the zero included */
};

/* The backend. Functions return enum qc_status, and fill the reason where that is not QC_OK. */
struct qc_backend {
  uint32_t abi_version; /* QC_ABI_VERSION of the header that the library was built with */
  const char* name;     /* "mykernel" */
  const char* version;  /* "2.3" */

  /* Whether the node can be computed, by everything but the tensors' values. Called first. May be NULL:
   * then everything is supported, and prepare or run refuse. */
  int (*supports)(const struct qc_node* node, struct qc_reason* reason);

  /* Packs weights and whatever else is done once for a node; sets *prepared, which is NULL before. Called
   * after supports. May be NULL. */
  int (*prepare)(const struct qc_node* node, void** prepared, struct qc_reason* reason);

  /* Frees what prepare made. Called once for every prepare that returned QC_OK, after the last run. May
   * be NULL. */
  void (*release)(void* prepared);

  /* Computes the node. Called any number of times between prepare and release; has to give the same bytes
   * every time. `prepared` is NULL without prepare. */
  int (*run)(const struct qc_node* node, void* prepared, const struct qc_output* output, struct qc_reason* reason);
};

/* Exported by the library. `abi_version` is qconform's QC_ABI_VERSION. Returns a backend that lives as
 * long as the process; NULL if the library cannot work with that version. */
const struct qc_backend* qconform_backend(uint32_t abi_version);

#ifdef __cplusplus
}
#endif

#endif
