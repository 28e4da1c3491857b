# strata in an image of its own, for `strata batch` under Kubernetes (docs/cluster.md):
#
#     docker build -t registry.example.com/strata .
FROM debian:trixie-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends \
        build-essential clang cmake lld ninja-build pkg-config python3 esbuild fontconfig fonts-dejavu-core \
        libcjson-dev libdeflate-dev libfreetype-dev libisal-dev libpng-dev libsqlite3-dev libxxhash-dev zlib1g-dev
COPY . /source
RUN cmake --preset release -S /source -B /build -DSTRATA_TESTS=OFF -DSTRATA_WERROR=OFF && cmake --build /build && cmake --install /build --prefix /out

FROM debian:trixie-slim
RUN apt-get update && apt-get install -y --no-install-recommends \
        libcjson1 libdeflate0 libfreetype6 libisal2 libpng16-16t64 libsqlite3-0 zlib1g && rm -rf /var/lib/apt/lists/*
COPY --from=build /out/bin/strata /usr/local/bin/strata
USER nobody
ENTRYPOINT ["strata"]
