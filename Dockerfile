# The operator's image for those who prefer Docker, with BuildKit. `make image` makes one with the same files without
# Docker. The context has no git, so say what is built:
#
#   docker build -t vmgroup-operator:1.2.3 --build-arg VERSION=1.2.3 --build-arg REVISION="$(git rev-parse HEAD)" .
#
ARG GO_VERSION=1.26

FROM --platform=$BUILDPLATFORM golang:${GO_VERSION} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY api ./api
COPY cmd ./cmd
COPY config ./config
COPY hack ./hack
COPY internal ./internal
COPY test ./test
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=dev
# The description of the files is the one of `make image`.
RUN go run -buildvcs=false ./hack/image -rootfs /rootfs -version "${VERSION}" -platform "${TARGETOS}/${TARGETARCH}"

FROM scratch
ARG VERSION=dev
ARG REVISION=
LABEL org.opencontainers.image.title="vmgroup-operator" \
      org.opencontainers.image.description="VmGroups: groups of virtual machines in vCenter, from many clusters" \
      org.opencontainers.image.source="https://github.com/codeconnect/vmgroup-operator" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /rootfs/ /
USER 65532:65532
ENTRYPOINT ["/manager"]
