#include "kernels/row_kernels.hpp"
