/* The version that -V prints and that pictures carry; the build may set it. */
#pragma once

#ifndef STRATA_VERSION
#define STRATA_VERSION "0.3.0"
#endif
