/* The C interface between qconform and a kernel under test.
 *
 * Build a shared library that exports qconform_backend(), and judge it.
 *
 *     cc -O2 -shared -fPIC -I harness/include my_kernel.c -o libmine.so
 *     qconform run --backend plugin:./libmine.so
 *     qconform run --backend plugin:./libmine.so@threads=2
 *
 * The library is loaded and run in a worker process. Whatever it does there (crash, exit, loop, read
 * or write outside its tensors) is found and told as the result of the case that it did it in.
 *
 * The interface grows in two ways. The first member of every struct is its size in bytes, as the one knows it who
 * filled the struct: a later qconform may add members behind the last one, and no others. qconform takes what a shorter
 * struct of a library lacks for 0, and looks at nothing behind the members that it knows. A later qconform may also
 * know more capabilities, each a bit of qc_capability, and a library that does not state one meets nothing new. Lists
 * are of pointers, so that a struct that grows moves nothing.
 *
 * Everything that is passed in is valid during the call only, unless a line below says otherwise. Every function is
 * called from one thread at a time; under --threads-check, run() is called from several at once with the same prepared
 * node, and has to give the same bytes in each. */
#ifndef QCONFORM_BACKEND_H
#define QCONFORM_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The number of this interface. It changes only when something changes its meaning, and the exported function then gets
 * another name. */
#define QC_INTERFACE_VERSION 1

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

/* Which member of an attribute holds its value. Lists of strings have no kind: no node that states one is passed in. */
enum qc_attribute_kind { QC_INT = 1, QC_FLOAT = 2, QC_STRING = 3, QC_INTS = 4, QC_FLOATS = 5 };

/* How the data of a value comes. */
enum qc_kind {
  QC_INPUT = 1,     /* x: with each run, and not before */
  QC_CONSTANT = 2,  /* weights: with `prepare` */
  QC_PARAMETER = 3, /* scales, zero points and bias: with `supports` and `prepare`, which may choose by them */
  QC_COMPUTED = 4   /* y: never, the run states and writes it; what a node of a graph computes likewise */
};

/* In which order the dimensions of a value are stated and its elements lie. Both go together: `dims` are row-major in
 * either. */
enum qc_layout {
  /* As ONNX has them: x and y [N, C, spatial...], w [M, C/group, spatial...]. */
  QC_LAYOUT_ONNX = 0,
  /* x and y [N, spatial..., C], w [M, spatial..., C/group], of depthwise convolutions too: one filter behind the other,
   * as in "NHWC" and "OHWI". */
  QC_LAYOUT_CHANNELS_LAST = 1
};

/* A tensor of a graph: row-major, little endian. Valid as long as its graph. */
struct qc_value {
  size_t size;  /* sizeof(struct qc_value) */
  int32_t kind; /* enum qc_kind */
  int32_t type; /* enum qc_type, or another number of ONNX: check it; 0 of QC_COMPUTED, whose type nobody states */
  int32_t rank; /* number of dimensions; 0 for a scalar, -1 of QC_COMPUTED */
  const int64_t* dims; /* `rank` of them, none negative */
  const void* data;    /* `bytes` bytes, aligned to the element size and to no more. Nothing around them may be touched.
                          NULL where the kind has no data yet */
  size_t bytes;        /* ceil(elements * bits of the type / 8), data or not; may be 0 */
  int32_t layout;      /* enum qc_layout of `dims` and `data`. Of y, of what a run has to state and write */
};

/* An attribute of a node. Its kind need not be the one that the operator defines: check it. */
struct qc_attribute {
  size_t size;         /* sizeof(struct qc_attribute) */
  const char* name;    /* "strides", as in ONNX */
  int32_t kind;        /* enum qc_attribute_kind */
  float f;             /* the value of a QC_FLOAT */
  int64_t i;           /* the value of a QC_INT */
  const char* s;       /* the text of a QC_STRING; ends with a zero byte */
  size_t count;        /* values of QC_INTS or QC_FLOATS, bytes of QC_STRING without the zero */
  const int64_t* ints; /* the values of a QC_INTS */
  const float* floats; /* the values of a QC_FLOATS */
};

/* One operator node. It may be wrong on purpose. */
struct qc_node {
  size_t size;                                  /* sizeof(struct qc_node) */
  const char* op_type;                          /* "QLinearConv" */
  const char* domain;                           /* "" is ONNX's own */
  int64_t opset_version;                        /* version of the domain's operator set that the node has */
  size_t attribute_count;                       /* attributes that are stated; others have ONNX's defaults */
  const struct qc_attribute* const* attributes; /* `attribute_count` of them */
  size_t input_count;                           /* inputs by position, omitted ones in between included */
  const int32_t* inputs;                        /* positions in the graph's values; -1 for an omitted input */
  size_t output_count;                          /* 1, of a graph also more */
  const int32_t* outputs;                       /* positions in the graph's values; -1 for an omitted output */
};

/* The nodes that are computed at once: one node with one output or, for a library with QC_UNITS, several nodes in an
 * order in which each finds its inputs computed. Of several nodes, what is fed is QC_INPUT; a tensor that the graph
 * holds is QC_CONSTANT if it has two dimensions or more, and else QC_PARAMETER (scales, zero points, bias, bounds,
 * axes). The graph that `supports` gets is valid during the call; that of `prepare` until release. */
struct qc_graph {
  size_t size;                          /* sizeof(struct qc_graph) */
  size_t value_count;                   /* all tensors of all nodes */
  const struct qc_value* const* values; /* `value_count` of them */
  size_t node_count;                    /* 1 or, with QC_UNITS, up to 256 */
  const struct qc_node* const* nodes;   /* `node_count` of them */
  size_t input_count;                   /* the values of kind QC_INPUT */
  const int32_t* inputs;                /* their positions, in the order in which a run gets them */
  size_t output_count;                  /* 1, of several nodes also more */
  const int32_t* outputs;               /* positions of the values that a run writes */
};

/* Room for a reason, one line that ends with a zero byte. Left empty, there is none. */
struct qc_reason {
  size_t size; /* sizeof(struct qc_reason) */
  char* text;
  size_t text_size; /* bytes of `text`, the zero included */
};

/* KEY=VALUE of the command line, both as they stand there: "threads" and "2". */
struct qc_argument {
  size_t size; /* sizeof(struct qc_argument) */
  const char* key;
  const char* value;
};

/* What the library is opened with. */
struct qc_setup {
  size_t size;                                /* sizeof(struct qc_setup) */
  const char* harness;                        /* "qconform 0.1.0", for messages */
  size_t argument_count;                      /* no key twice */
  const struct qc_argument* const* arguments; /* `argument_count` of them */
};

/* What prepare makes of a graph. All but `size` is 0 before. */
struct qc_prepared {
  size_t size;              /* sizeof(struct qc_prepared), of qconform */
  void* node;               /* the library's own; passed to run and release */
  size_t scratch_bytes;     /* bytes of scratch memory for a run, at most 2^40; 0 for none */
  size_t scratch_alignment; /* the alignment of that memory: a power of two up to 512; 0 stands for 1 */
};

/* One run. Valid during the call, and so is all that it leads to but the graph. */
struct qc_run {
  size_t size;                          /* sizeof(struct qc_run) */
  const struct qc_graph* graph;         /* the graph that prepare got */
  const struct qc_value* const* inputs; /* the graph's inputs, in its order, types and shapes, with this run's data */
  void* scratch;                        /* `scratch_bytes` of any content, of this run alone: nothing around them may be
                                           touched, and nothing in them stays. NULL for 0 bytes */
  void* context;                        /* to be passed to `allocate` */
  /* States the type and dimensions of output number `output` (0 to the graph's output_count - 1), which are judged too,
   * and gives its memory: the bytes of a dense tensor, aligned to the element size and to no more. Every byte has to be
   * written, none around them. To be called once for each output in every run. NULL if that is no tensor qconform can
   * hold: return then. */
  void* (*allocate)(void* context, size_t output, int32_t type, int32_t rank, const int64_t* dims);
};

/* What a library says of itself, added up. Bits that a qconform does not know change nothing. */
enum qc_capability {
  /* It assumes valid nodes: none out of contract is sent to it (as with --valid-only), and its refusals are not judged.
   */
  QC_ASSUMES_VALID = 1,
  /* It can take x and give y with the channels last, and takes them as ONNX has them. Reported; nothing is asked. */
  QC_CHANNELS_LAST = 2,
  /* It takes graphs of several nodes too, and says by `supports` which ones. Without this it gets none. */
  QC_UNITS = 4,
  /* All runs of one prepared node have to get the same inputs, at the same addresses: it keeps what it makes of the
   * first. Without this, another x is given to prepared nodes, and the answer to that is judged too. */
  QC_SAME_INPUTS = 8,
  /* It takes x and w, and gives y, of convolutions (QLinearConv, ConvInteger) with the channels last. qconform turns x
   * and w round and puts them between guards; `dims` are stated as the data lie, and so does the run state y's dims.
   * Attributes and parameters stay as in ONNX: none of them has both channels and places. Values of fewer than 3
   * dimensions or with elements of less than a byte, which no valid convolution has, stay as they are: `layout` says
   * so for each value. */
  QC_NEEDS_CHANNELS_LAST = 16
};

/* The backend. Functions return enum qc_status, and fill the reason where that is not QC_OK. A node is prepared, run
 * and released between open and close; several may be prepared at a time. */
struct qc_backend {
  size_t size;           /* sizeof(struct qc_backend) */
  const char* name;      /* "mykernel" */
  const char* version;   /* "2.3" */
  uint64_t capabilities; /* bits of enum qc_capability */

  /* Takes the arguments, and sets *state, which is NULL before, to whatever the other functions are to get. Called
   * once, first. Any status but QC_OK ends qconform with the reason: an argument that the library does not know
   * deserves one. May be NULL: then no argument is taken, and the state is NULL. */
  int (*open)(const struct qc_setup* setup, void** state, struct qc_reason* reason);

  /* Called after all else, if open returned QC_OK and the process ends in an orderly way, which workers do not. May be
   * NULL. */
  void (*close)(void* state);

  /* Whether the graph can be computed, by types, shapes, attributes, omitted inputs and parameters: there are no data
   * of x and weights, so that a program can plan before it has them. Called before prepare. May be NULL: then prepare
   * or run refuse. */
  int (*supports)(void* state, const struct qc_graph* graph, struct qc_reason* reason);

  /* Packs weights and whatever else is done once for a node; says what scratch memory a run needs. Has no data of x.
   * Called after supports. May be NULL. */
  int (*prepare)(void* state, const struct qc_graph* graph, struct qc_prepared* prepared, struct qc_reason* reason);

  /* Frees what prepare made. Called once for every prepare that returned QC_OK, after the last run. May be NULL. */
  void (*release)(void* state, void* node);

  /* Computes the graph. Called any number of times between prepare and release, with the same or with other inputs; has
   * to give the same bytes for the same inputs. `node` is NULL without prepare. */
  int (*run)(void* state, void* node, const struct qc_run* run, struct qc_reason* reason);

  /* Arguments, each of which switches off a part of the library that may be wrong, a fusion say: {"relu-fusion",
   * "off"}. qconform opens the library again with some of them, to find which parts have to be off for a failing graph
   * to be right. Keys and values are of letters, digits, '_', '-' and '.', keys with a letter in front. `open` takes
   * them. */
  size_t switch_count;
  const struct qc_argument* const* switches; /* `switch_count` of them */
};

/* Exported by the library. Returns a backend that lives as long as the process; NULL if the library cannot work here.
 */
const struct qc_backend* qconform_backend(void);

#ifdef __cplusplus
}
#endif

#endif
