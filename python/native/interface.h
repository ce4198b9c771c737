/* What the Python package calls (python/qconform/_native.py, by ctypes): a small C interface over the harness.
 *
 * ONNX's protobuf bytes go in and come out for models and tensors, JSON for whatever has a structure. Every function
 * returns QCONFORM_OK or QCONFORM_ERROR; with an error it fills `error` with a JSON object of texts: "field", "value",
 * "rule" and "message", each of which but the message may be empty. No exception leaves.
 *
 * What comes back is the caller's: a buffer until qconform_release_buffer(), a handle until its own release function.
 * What goes in is read during the call alone.
 *
 * Any function may be called from any thread. Calls on one suite or one set of right values wait for each other; all
 * others run at the same time. A case never changes.
 */
#ifndef QCONFORM_PYTHON_INTERFACE_H
#define QCONFORM_PYTHON_INTERFACE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QCONFORM_API __attribute__((visibility("default")))

/* Counts up with every change here; the package refuses another. */
#define QCONFORM_PYTHON_INTERFACE 1

#define QCONFORM_OK 0
#define QCONFORM_ERROR 1

typedef struct {
  const void* data;
  uint64_t size;
} qconform_bytes;

typedef struct {
  void* data;
  uint64_t size;
} qconform_buffer;

typedef struct qconform_case qconform_case;
typedef struct qconform_expected qconform_expected;
typedef struct qconform_suite qconform_suite;

QCONFORM_API uint32_t qconform_python_interface(void);
QCONFORM_API void qconform_release_buffer(qconform_buffer* buffer);

/* {"version", "profiles": [{"name", "description"}], "suites": [{"name", "description"}]} */
QCONFORM_API int32_t qconform_facts(qconform_buffer* facts, qconform_buffer* error);

/* Where the corpus lies, for the suites that read it. To be called before any suite is opened. */
QCONFORM_API int32_t qconform_offer_corpus(qconform_bytes folder, qconform_buffer* error);

/* A case: a small graph with its tensors. */

/* Of a serialized ModelProto and serialized TensorProtos for its inputs: by their names, or where no tensor has one in
 * the order of the graph's inputs. */
QCONFORM_API int32_t qconform_case_from_model(qconform_bytes model, const qconform_bytes* inputs, uint64_t count,
                                              qconform_case** result, qconform_buffer* error);
/* Of case JSON with exactly one case. */
QCONFORM_API int32_t qconform_case_from_json(qconform_bytes text, qconform_case** result, qconform_buffer* error);
QCONFORM_API void qconform_release_case(qconform_case* handle);

/* {"id", "operator", "summary", "source", "seed", "index", "digest", "note", "stated", "rules", "tags", "inputs":
 * [names of what is fed], "outputs": [names], "expectation", "remark": {"field", "rule", "text"} or null}. The rules
 * give the expectation: valid, implementation-defined or invalid; "stated" is what the source of the case expects. */
QCONFORM_API int32_t qconform_case_facts(qconform_case* handle, qconform_buffer* facts, qconform_buffer* error);
QCONFORM_API int32_t qconform_case_json(qconform_case* handle, qconform_buffer* text, qconform_buffer* error);
/* A ModelProto that holds everything: the form that files have, lossless. */
QCONFORM_API int32_t qconform_case_file(qconform_case* handle, qconform_buffer* model, qconform_buffer* error);
/* A ModelProto with inputs, as a model in use has them, and with the types of its outputs where they are known. */
QCONFORM_API int32_t qconform_case_model(qconform_case* handle, qconform_buffer* model, qconform_buffer* error);
/* Input `number` of that model, as a TensorProto with a name. */
QCONFORM_API int32_t qconform_case_input(qconform_case* handle, uint64_t number, qconform_buffer* tensor,
                                         qconform_buffer* error);

/* What is right for a case. */

/* `profile`: a name or a file, as behind --profile; `overflow`: "wrap" or "permissive". The case may be released first.
 */
QCONFORM_API int32_t qconform_expect(qconform_case* handle, qconform_bytes profile, qconform_bytes overflow,
                                     qconform_expected** result, qconform_buffer* error);
QCONFORM_API void qconform_release_expected(qconform_expected* handle);

/* {"outputs": [{"name", "type", "shape"}]}; type, a number of ONNX, and shape are null where the case is out of
 * contract. */
QCONFORM_API int32_t qconform_expected_facts(qconform_expected* handle, qconform_buffer* facts, qconform_buffer* error);

/* The reference's answer for output `number`, as a TensorProto with its name. An error where the case is out of
 * contract, where the rules leave every value open, and where there is no such output. */
QCONFORM_API int32_t qconform_reference(qconform_expected* handle, uint64_t number, qconform_buffer* tensor,
                                        qconform_buffer* error);

/* The right values of `count` elements of output `number` from element `first` on. Element i has the ranges from
 * offsets[i] to offsets[i + 1]: `low` and `high` are TensorProtos of one dimension with their ends, of the output's
 * type. Equal ends stand for one pattern; otherwise every number between them is right, and zero of either sign. */
typedef struct {
  qconform_buffer offsets; /* int64[count + 1] */
  qconform_buffer low;
  qconform_buffer high;
  qconform_buffer flags; /* uint8[count]: QCONFORM_ANY_VALUE, ... */
} qconform_right_values;

#define QCONFORM_ANY_VALUE 1   /* every pattern of the type; no ranges */
#define QCONFORM_ANY_NAN 2     /* besides: NaN with any payload and sign */
#define QCONFORM_EITHER_ZERO 4 /* besides: +0 and -0 */

QCONFORM_API int32_t qconform_admissible(qconform_expected* handle, uint64_t number, uint64_t first, uint64_t count,
                                         qconform_right_values* values, qconform_buffer* error);
/* One element for the reader: {"admissible", "exact"}. */
QCONFORM_API int32_t qconform_element(qconform_expected* handle, uint64_t number, uint64_t element,
                                      qconform_buffer* text, qconform_buffer* error);
/* Whether each element of a serialized TensorProto is right for output `number`: uint8[elements]. An error where type
 * or shape differ from the output's. */
QCONFORM_API int32_t qconform_right_elements(qconform_expected* handle, uint64_t number, qconform_bytes tensor,
                                             qconform_buffer* right, qconform_buffer* error);
/* The verdict on serialized TensorProtos as the case's outputs: what `qconform replay --json` prints, with one result.
 */
QCONFORM_API int32_t qconform_judge(qconform_expected* handle, const qconform_bytes* outputs, uint64_t count,
                                    qconform_buffer* verdict, qconform_buffer* error);

/* A stream of cases. */

/* `cases` below 0: as many as the suite has by itself. */
QCONFORM_API int32_t qconform_suite_open(qconform_bytes name, uint64_t seed, int64_t cases, qconform_suite** result,
                                         qconform_buffer* error);
QCONFORM_API void qconform_release_suite(qconform_suite* handle);
/* The next case; null at the end. After an error the suite is at its end. */
QCONFORM_API int32_t qconform_suite_next(qconform_suite* handle, qconform_case** result, qconform_buffer* error);
/* {"sources": [names], "size": number or null, "skipped": {reason: count}}; what was skipped so far. */
QCONFORM_API int32_t qconform_suite_facts(qconform_suite* handle, qconform_buffer* facts, qconform_buffer* error);

#ifdef __cplusplus
}
#endif

#endif
