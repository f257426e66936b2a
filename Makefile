# Everything that a person or CI does with this repository. Recipes are short: the logic is in Go below hack/, so
# that it is the same on Linux and macOS, and works with the GNU make 3.81 that macOS has. A target without a
# description after ## is a bug.

GO ?= go
# No version control stamp: it fails in a checkout of another owner, and the version is passed explicitly.
RUN := $(GO) run -buildvcs=false
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION)

# The tools use all cores by themselves; two of them at a time would only mix their lines.
.NOTPARALLEL:
.DEFAULT_GOAL := help
.PHONY: help test demo build generate manifests fmt lint verify bench tools clean

help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "; print "Usage: make <target>\n"} \
		/^[a-z-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' Makefile

test: ## Run all tests against real API servers; ARGS="-run X ./internal/plan" narrows it down
	@$(RUN) ./hack/test $(ARGS)

demo: ## Show the operator at work on three local clusters and a vCenter simulator; DEMO=stay keeps it up
	@$(RUN) ./hack/tool assets >/dev/null
	@$(RUN) ./hack/progress -label "compiling the demo" -o bin/demo ./test/demo
	@DEMO="$(DEMO)" ./bin/demo

build: ## Build the operator into bin/manager
	@$(RUN) ./hack/progress -label "compiling the operator" -o bin/manager -trimpath -ldflags "$(LDFLAGS)" ./cmd/manager
	@echo "bin/manager $(VERSION)"

generate: ## Write the deepcopy functions of the API types
	@gen="$$($(RUN) ./hack/tool controller-gen)" && "$$gen" object paths=./api/...

manifests: ## Write the CRDs and the operator's RBAC from markers in the code
	@gen="$$($(RUN) ./hack/tool controller-gen)" && \
		"$$gen" crd paths=./api/... output:crd:artifacts:config=config/crd/bases && \
		"$$gen" rbac:roleName=vmgroup-operator-manager "paths=./internal/...;./cmd/..." \
			output:rbac:artifacts:config=config/rbac

fmt: ## Format the code and sort imports
	@lint="$$($(RUN) ./hack/tool golangci-lint)" && "$$lint" fmt

lint: ## Check the linter's configuration, then the code and its import directions
	@$(RUN) ./hack/tool golangci-lint >/dev/null
	@$(RUN) ./hack/progress -label "lint: compiling dependencies" -tests ./...
	@lint="$$($(RUN) ./hack/tool golangci-lint)" && "$$lint" config verify && \
		echo "lint: checking; the first run takes a minute or two" && "$$lint" run

verify: ## Check that generated files, go.mod files and kustomizations are right; changes nothing
	@for tool in controller-gen golangci-lint kustomize; do $(RUN) ./hack/tool $$tool >/dev/null || exit 1; done
	@$(RUN) ./hack/verify

bench: ## Run the benchmarks of the planner and the vSphere code
	@$(GO) test -run '^$$' -bench . -benchmem ./internal/plan/... ./internal/vsphere/...

tools: ## Build kube-apiserver, etcd and all development tools into the cache, and print their paths
	@$(RUN) ./hack/tool assets
	@for tool in $$($(RUN) ./hack/tool -list); do $(RUN) ./hack/tool $$tool || exit 1; done

clean: ## Remove what was built in the tree; the caches of Go and of the tools stay
	@rm -rf bin dist
