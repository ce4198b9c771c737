#include "reference/oracle/exact.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace qconform::reference::oracle {
namespace {

struct BinaryFormat {
  int precision;          // bits of the significand, the leading one included
  int smallest_exponent;  // the least exponent of a normal number's leading bit
  int largest_exponent;
};

constexpr BinaryFormat kFloat32{24, -126, 127};
constexpr BinaryFormat kFloat64{53, -1022, 1023};

mpq_class power_of_two(int exponent) {
  const mpz_class magnitude = mpz_class(1) << static_cast<unsigned>(std::abs(exponent));
  return exponent >= 0 ? mpq_class(magnitude) : mpq_class(mpz_class(1), magnitude);
}

// The exponent of the leading bit of a positive number: 2^e <= value < 2^(e+1).
int leading_exponent(const mpq_class& value) {
  auto exponent = static_cast<int>(mpz_sizeinbase(value.get_num_mpz_t(), 2)) -
                  static_cast<int>(mpz_sizeinbase(value.get_den_mpz_t(), 2));
  while (power_of_two(exponent) > value) --exponent;
  while (power_of_two(exponent + 1) <= value) ++exponent;
  return exponent;
}

double round_to(const BinaryFormat& format, const mpq_class& value) {
  if (value == 0) return 0.0;
  const mpq_class magnitude = abs(value);
  const int leading = std::max(leading_exponent(magnitude), format.smallest_exponent);
  const int unit = leading - (format.precision - 1);
  const mpz_class units = rne(magnitude / power_of_two(unit));
  const bool overflows = units * power_of_two(unit) >= power_of_two(format.largest_exponent + 1);
  const double rounded = overflows ? std::numeric_limits<double>::infinity() : std::ldexp(units.get_d(), unit);
  return value < 0 ? -rounded : rounded;
}

}  // namespace

mpq_class exact(double value) {
  return mpq_class(value);
}

mpz_class rne(const mpq_class& value) {
  const mpq_class shifted = value + mpq_class(1, 2);
  mpz_class below;
  mpz_fdiv_q(below.get_mpz_t(), shifted.get_num_mpz_t(), shifted.get_den_mpz_t());
  // A tie makes `shifted` an integer: the upper of the two neighbours.
  const bool is_tie = shifted.get_den() == 1;
  if (is_tie && mpz_odd_p(below.get_mpz_t()) != 0) --below;
  return below;
}

mpq_class distance_from_tie(const mpq_class& value) {
  mpz_class below;
  mpz_fdiv_q(below.get_mpz_t(), value.get_num_mpz_t(), value.get_den_mpz_t());
  return abs(value - below - mpq_class(1, 2));
}

float rn32(const mpq_class& value) {
  return static_cast<float>(round_to(kFloat32, value));
}

double rn64(const mpq_class& value) {
  return round_to(kFloat64, value);
}

}  // namespace qconform::reference::oracle
