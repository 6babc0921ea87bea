# The versions of every tool that is not a Go module of go.mod. One place, read by the Makefile and the scripts.
VERSITYGW_VERSION      := v1.8.0
LIVEKIT_VERSION        := v1.13.5
GOLANGCI_VERSION       := v2.15.0
GOVULNCHECK_VERSION    := v1.9.0
VULNDB_VERSION         := v0.0.0-20261105234957-e22db6528018
PROTOC_GEN_GO_VERSION  := v1.36.12
PROTOC_GRPC_VERSION    := v1.6.2
OPENAI_JS_VERSION      := 6.49.0
OPENAI_PY_VERSION      := 3.57.0
AIPERF_VERSION         := 0.13.0
LIVEKIT_CLIENT_VERSION := 2.23.0
ESBUILD_VERSION        := 0.28.2
PLAYWRIGHT_VERSION     := 1.65.1
