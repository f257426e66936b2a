# All commands for people and CI. Recipes are short: the logic is in Go in hack/, so that it is the same on Linux and macOS and works with
# GNU make 3.81 of macOS. Each target needs a description after ##.

GO ?= go
# All builds use the same flags, so that Go compiles shared packages once. See test/harness/progress/flags.go.
export CGO_ENABLED := 0
export GOFLAGS := -trimpath -buildvcs=false
RUN := $(GO) run
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
# Git tag v1.2.3 and chart version 1.2.3 are the same version; hack/image converts it the same way.
RELEASE = $(shell printf '%s' '$(VERSION)' | sed 's/^v\([0-9]\)/\1/')
LDFLAGS = -s -w -X main.version=$(RELEASE)
# PLUGIN builds the kubectl plugin.
PLUGIN = $(RUN) ./hack/progress -label "compiling the plugin" -o bin/kubectl-vmgroup -ldflags "$(LDFLAGS)" ./cmd/kubectl-vmgroup

# Each tool uses all cores; two tools in parallel would only interleave their output.
.NOTPARALLEL:
.DEFAULT_GOAL := help
.PHONY: help test test-fast test-race test-slow test-alerts test-crash test-failover test-skew test-upgrade test-soak test-e2e test-release test-planted test-mutants demo cluster build plugin image release generate manifests fmt lint verify bench drawings tools clean

help: ## Show this help
	@awk 'BEGIN {FS = ":.*## "; print "Usage: make <target>\n"} \
		/^[a-z0-9-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' Makefile

test: ## Run all tests except the slow ones, against real API servers; ARGS="-run X ./internal/plan" selects tests
	@$(RUN) ./hack/test $(ARGS)

test-fast: ## Run the tests without servers, in seconds
	@$(RUN) ./hack/test -fast $(ARGS)

test-race: ## Run the tests without servers with the race detector; needs a C compiler
	@$(RUN) ./hack/test -race $(ARGS)

test-slow: ## Run the slow tests, with the race detector in the operator; PART=1 runs one of fourteen parts, PICK=commit a few minutes
	@$(RUN) ./hack/test $(if $(PICK),-pick $(PICK),-slow $(if $(PART),-part $(PART))) $(ARGS)

test-alerts: ## Evaluate the chart's alerts and dashboards with Prometheus' rule engine on a virtual clock, half a minute; ARGS="-run X" selects tests
	@# Go does not detect changes of files outside the module, and would return a cached result of another chart.
	@$(GO) test -C test/alerts -count=1 . $(ARGS)

test-crash: ## Kill, disconnect or disrupt the manager at each call, one to two hours; a new run continues an interrupted one
	@$(RUN) ./hack/tool assets >/dev/null
	@$(RUN) ./hack/progress -label "compiling the crash points" -o bin/test-crash ./test/crash/full
	@./bin/test-crash $(ARGS)

test-failover: ## Kill, stop, pause and disconnect replicas, and check each time limit, about 25 minutes
	@$(RUN) ./hack/tool assets >/dev/null
	@$(GO) test -tags slow ./test/failover -count=1 -v -timeout 90m -args -rounds=3 $(ARGS)

test-skew: ## Run the admission tests with members of the oldest supported Kubernetes version; builds it first
	@$(RUN) ./hack/tool assets >/dev/null
	@$(RUN) ./hack/tool cert-manager >/dev/null
	@$(RUN) ./hack/tool kube-apiserver-1.34 >/dev/null
	@$(GO) test ./test/admission -count=1 -v -timeout 30m -run 'TestTable|TestAGroup' -args -members=kube-apiserver-1.34 $(ARGS)

test-upgrade: ## Update from the version of a commit, roll back and update again under load; FROM=commit or tag, default HEAD, two minutes
	@$(RUN) ./hack/tool assets >/dev/null
	@$(GO) test -tags upgrade ./test/upgrade -count=1 -v -timeout 30m -args -from="$(or $(FROM),HEAD)" $(ARGS)

test-soak: ## Change things at random and show that nothing grows; MINUTES=20, then half an hour of rest; ARGS=-seed=1 repeats one
	@$(RUN) ./hack/tool assets >/dev/null
	@for tool in cert-manager kube-node; do $(RUN) ./hack/tool $$tool >/dev/null || exit 1; done
	@$(GO) test -tags soak ./test/soak -count=1 -v -timeout $$(( $(or $(MINUTES),20) + 45 ))m -run TestNothingGrows -args -minutes=$(or $(MINUTES),20) $(ARGS)

test-e2e: ## Install the chart with Helm on a real cluster with a node, and test nodes and images; needs root on Linux
	@$(RUN) ./hack/test -e2e $(ARGS)

test-release: ## The part of test-e2e that makes a release and installs it from a registry, with kubectl and with krew; three minutes
	@$(RUN) ./hack/test -e2e -run '^TestReleaseInstalls$$' ./test/e2e $(ARGS)

test-planted: ## Restore known bugs one at a time, and report the tests that detect each
	@$(RUN) ./hack/tool assets >/dev/null
	@$(RUN) ./hack/progress -label "compiling" -o bin/test-planted ./hack/planted
	@./bin/test-planted $(ARGS)

test-mutants: ## Mutate the pure packages one line at a time, and print mutants that no test detects; BASE=commit ARGS="-all ./internal/plan"
	@$(RUN) ./hack/tool gremlins >/dev/null
	@$(RUN) ./hack/mutants $(if $(BASE),-base $(BASE)) $(ARGS)

demo: ## Run the operator on three local clusters and a vCenter simulator; DEMO=stay keeps it running
	@began=$$(date +%s) && $(RUN) ./hack/tool assets >/dev/null && \
		$(PLUGIN) && $(RUN) ./hack/progress -label "compiling the demo" -o bin/demo ./hack/demo && \
		DEMO="$(DEMO)" DEMO_BEGAN="$$began" ./bin/demo

cluster: ## Start a hub that runs Pods and two members, print their kubeconfigs, run until Ctrl-C; needs root on Linux
	@$(RUN) ./hack/tool assets >/dev/null
	@for tool in cert-manager kube-node containerd; do $(RUN) ./hack/tool $$tool >/dev/null || exit 1; done
	@$(RUN) ./hack/progress -label "compiling the cluster" -o bin/cluster ./hack/cluster
	@./bin/cluster $(ARGS)

build: ## Build the operator into bin/manager
	@$(RUN) ./hack/progress -label "compiling the operator" -o bin/manager -ldflags "$(LDFLAGS)" ./cmd/manager
	@echo "bin/manager $(RELEASE)"

plugin: ## Build the kubectl plugin into bin/kubectl-vmgroup, with bin/kubectl_complete-vmgroup for shells
	@$(PLUGIN)
	@printf '#!/bin/sh\nexec kubectl vmgroup __complete "$$@"\n' >bin/kubectl_complete-vmgroup && chmod +x bin/kubectl_complete-vmgroup
	@echo "bin/kubectl-vmgroup $(RELEASE)"

image: ## Write the image and its SBOM to dist/image; PLATFORM=linux/amd64,linux/arm64 PUSH=registry.example.com/name
	@$(RUN) ./hack/image -version "$(VERSION)" -platform "$(PLATFORM)" -push "$(PUSH)"

release: ## Write all files of a release to dist/release; VERSION=0.2.0 PLATFORM=linux/amd64 REGISTRY=registry.example.com/team PUSH=the same
	@$(RUN) ./hack/release -version "$(VERSION)" -platform "$(PLATFORM)" -registry "$(REGISTRY)" -push "$(PUSH)"

generate: ## Generate the deepcopy functions of the API types, the reference pages, and the dashboards
	@gen="$$($(RUN) ./hack/tool controller-gen)" && "$$gen" object paths=./api/...
	@$(RUN) ./hack/privileges
	@$(RUN) ./hack/reference
	@docs="$$($(RUN) ./hack/tool crd-ref-docs)" && "$$docs" --source-path=api/v1alpha1 --config=hack/reference/api/config.yaml \
		--templates-dir=hack/reference/api/templates --renderer=markdown --output-path=docs/reference/api.md --log-level=ERROR
	@$(GO) run -C hack/dashboards . ../../charts/vmgroup-operator/files/dashboards

manifests: ## Generate the CRDs and the operator's RBAC from markers in the code, and their copies in the chart
	@gen="$$($(RUN) ./hack/tool controller-gen)" && \
		"$$gen" crd paths=./api/... output:crd:artifacts:config=config/crd/bases && \
		"$$gen" rbac:roleName=vmgroup-operator-manager "paths=./internal/...;./cmd/..." \
			output:rbac:artifacts:config=config/rbac
	@$(RUN) ./hack/chart
	@docs="$$($(RUN) ./hack/tool helm-docs)" && "$$docs" --chart-search-root charts --sort-values-order file --log-level warn

drawings: ## Render the drawings of the pages in Chromium and store their hashes for `make verify`; PNG=directory writes pictures
	@$(GO) test -C test/drawings -count=1 . -args -drawings.write $(if $(PNG),-drawings.png="$(abspath $(PNG))")

fmt: ## Format the code and sort imports
	@lint="$$($(RUN) ./hack/tool golangci-lint)" && "$$lint" fmt

lint: ## Check the linter's configuration, then the code and its import directions
	@$(RUN) ./hack/tool golangci-lint >/dev/null
	@$(RUN) ./hack/progress -label "lint: compiling dependencies" -tests ./...
	@lint="$$($(RUN) ./hack/tool golangci-lint)" && "$$lint" config verify && \
		echo "lint: checking; the first run takes a minute or two" && "$$lint" run --allow-serial-runners

verify: ## Check generated files, go.mod files, kustomizations and the Helm chart; changes nothing
	@for tool in controller-gen crd-ref-docs golangci-lint kustomize helm helm-docs helm-unittest kubeconform kube-score pod-security; do $(RUN) ./hack/tool $$tool >/dev/null || exit 1; done
	@$(RUN) ./hack/verify

bench: ## Compare the operator with the original one; BENCH=name runs one benchmark, BENCH=list shows names
	@$(RUN) ./hack/tool assets >/dev/null
	@$(RUN) ./hack/tool cert-manager >/dev/null
	@$(RUN) ./hack/progress -label "compiling the benchmarks" -o bin/bench ./bench
	@BENCH="$(BENCH)" ./bin/bench

tools: ## Build kube-apiserver, etcd and all development tools into the cache, and print their paths
	@$(RUN) ./hack/tool assets
	@for tool in $$($(RUN) ./hack/tool -list); do $(RUN) ./hack/tool $$tool || exit 1; done

clean: ## Remove build output from the tree; keeps the caches of Go and of the tools
	@rm -rf bin dist
