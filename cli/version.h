/* The version that -V prints and that pictures carry; the build may set it. */
#ifndef STRATA_CLI_VERSION_H
#define STRATA_CLI_VERSION_H

#ifndef STRATA_VERSION
#define STRATA_VERSION "0.3.0"
#endif

#endif
