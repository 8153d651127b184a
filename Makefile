# The two commands a joiner needs, run and test, do all the set-up on a
# machine with only Go. `make help` lists the rest.

GO        ?= go
BIN       := bin
PACKAGES  := ./...
SOAK      ?= 1000000
CHAOS     ?= 200
NOTICES   ?= $(if $(INTRA_SEED),1,200)
ATTACK    ?= $(if $(INTRA_SEED),1,200)
FLIPS     ?= 1000
KEEP      ?= $(if $(INTRA_SEED),1,200)
FILES     ?= $(if $(INTRA_SEED),1,200)
PROGRAMS  ?= 10000
WEIBULL   ?= 5
WATCH     ?= 3600
MPI_KILLS ?= 100
FUZZTIME  ?= 5m
BENCH     ?= 1
RULES     ?= .
# The linter is a tool of the project, not a dependency of its users.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

# The packages whose files depend on the tag intra.
TAGGED    := . ./examples/...
# The examples with files that the tag selects.
TWINS     = $$(grep -rl --include='*.go' '^//go:build.*intra' examples | sed 's|/[^/]*$$||; s|^|./|' | sort -u)

# Tests that take long, such as those of whole jobs, have a tag, so that
# `go test ./...` leaves them out.
SYSTEM    := -tags system ./internal/testkit/systemtest
# Packages that have such tests beside others, which `make test` runs, and the names of
# their tagged tests.
MIXED     := ./internal/head/arbiter ./cmd/intragen ./cmd/intrabench
TAGGEDTESTS = ^($$(grep -l '^//go:build.*system' $(MIXED:=/*_test.go) | xargs sed -n 's/^func \(Test[A-Za-z0-9_]*\)(.*/\1/p' | paste -sd '|'))$$

# The parts of check, test and system are targets too, so that make -k runs all of them
# although one has failed.
.PHONY: help run test untagged tagged system jobs mixed matrix paths full browser pictures manifest race check format vet static generated generate bench soak rules attack flips files hostfiles keep programs chaos notices weibull watch mpi fuzz house comments clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z]+:.*## / { printf "%-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(BIN)/intrarun: FORCE
	$(GO) build -o $@ ./cmd/intrarun
FORCE:

run: $(BIN)/intrarun ## the main job: HPCCG on a replica pair, one replica killed halfway
	$(BIN)/intrarun -n 1 -r 2 -v -kill 0.1@task:6000 ./examples/hpccg -nx 64 -ny 64 -nz 64

# Nothing here reads the DWARF of a program that a test builds, which takes a third of the
# time of its link.
test system matrix: export GOFLAGS += -ldflags=-w

# Linkers and simulations spend a fifth of their time on collecting garbage. `make system`,
# `make race` and `go test` collect it as often as usual.
test: export GOGC := 400

# `make check` vets all that the tests compile, and compiles all packages both ways: go test
# need not vet them again, nor go build link each program.
test: untagged tagged ## the tests, but those of `make system`
untagged:
	$(GO) test -vet=off $(PACKAGES)
tagged:
	$(GO) test -vet=off -tags intra $(TWINS)

# One package at a time: processes that wait for each other poll, and the more of them there
# are for each core, the more of that is in vain.
system: jobs mixed ## whole jobs whose processes, hosts and network fail; programs of users (hosts: root)
jobs:
	$(GO) test -vet=off -timeout 1h -p 1 -parallel 4 $(SYSTEM)/...
mixed:
	$(GO) test -vet=off -timeout 1h -p 1 -parallel 4 -tags system -run "$(TAGGEDTESTS)" $(MIXED)

matrix: ## the tests of whole jobs, programs and platforms in every combination, of which the others run some
	INTRA_MATRIX=1 $(GO) test -vet=off -timeout 6h -count 1 -p 1 -parallel 4 $(SYSTEM)/... ./internal/head/arbiter ./cmd/... ./examples/... ./transport/...
	INTRA_MATRIX=1 $(GO) test -vet=off -timeout 1h -count 1 -tags intra ./examples/...

paths: ## the kernels without assembly, with a compiler that may fuse multiply and add, and vetted for another architecture
	$(GO) test -tags purego ./kernels/...
	GOAMD64=v3 $(GO) test ./kernels/...
	GOARCH=arm64 $(GO) vet ./kernels/... . ./runtime ./comm ./examples/...

full: matrix paths race attack hostfiles ## what CI does in part: every combination and path, staticcheck of rewritten code, all under the race detector, all attacks
	$(GO) run $(STATICCHECK) -tags intra $(TAGGED)

browser: ## the live page in a Chromium without a window; skipped where there is none
	cd internal/testkit/systemtest/browser && $(GO) vet ./... && $(GO) test -timeout 30m -v ./...

pictures: ## take the pictures of docs/see.md anew, in that browser
	cd internal/testkit/systemtest/browser && INTRA_PICTURES=1 $(GO) test -timeout 30m -count 1 -v ./...

manifest: ## the manifest in docs/cluster.md against the types of the Kubernetes API
	cd internal/testkit/systemtest/kubernetes && $(GO) vet ./... && $(GO) test ./...

race: ## all tests under the race detector
	$(GO) test -race -timeout 30m $(PACKAGES)

# One process that loads all packages at once takes a third of the time of one for each
# package, and collects garbage less often.
check: export GOGC := 400
check: format vet static generated ## gofmt, vet with and without the tags, staticcheck, generated files up to date
format:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go' | grep -v testdata)); \
	 if [ -n "$$unformatted" ]; then echo "gofmt: $$unformatted"; exit 1; fi
vet:
	$(GO) vet -tags system $(PACKAGES)
	$(GO) vet -tags intra $(TAGGED)
static:
	$(GO) run $(STATICCHECK) -tags system $(PACKAGES)
generated:
	$(GO) tool intragen -check ./...
	$(GO) build -o $(BIN)/intravet ./cmd/intravet
	$(BIN)/intravet ./examples/...

generate: ## run every generator
	$(GO) generate $(PACKAGES)

bench: ## one short round of all measurements, a few minutes (BENCH rounds); look at `intrabench` for longer ones
	$(GO) build -o $(BIN)/intrabench ./cmd/intrabench
	$(BIN)/intrabench kernels -rounds $(BENCH) -size L1,DRAM
	$(BIN)/intrabench spmv -rounds $(BENCH)
	$(BIN)/intrabench pingpong -rounds $(BENCH) -max 65536
	$(BIN)/intrabench collectives -rounds $(BENCH)
	$(BIN)/intrabench grain -rounds $(BENCH)
	$(BIN)/intrabench grain -taskbench -rounds $(BENCH) -time 10ms
	$(BIN)/intrabench files -rounds $(BENCH) -size 64
	$(BIN)/intrabench figures -rounds $(BENCH) -nx 64 -ny 64 -nz 64
	$(BIN)/intrabench figures -rounds $(BENCH) -app gtc -mthetamax 320 -steps 2
	$(BIN)/intrabench figures -rounds $(BENCH) -app npb -class W
	$(BIN)/intrabench figures -rounds $(BENCH) -app hpcg -nx 32 -ny 32 -nz 32
	$(BIN)/intrabench figures -rounds $(BENCH) -app minighost -nx 64 -ny 64 -nz 64
	$(BIN)/intrabench figures -rounds $(BENCH) -app amg -nx 32 -ny 32 -nz 32
	$(BIN)/intrabench papers -rounds $(BENCH) -class W -n 32
	$(BIN)/intrabench recovery -rounds $(BENCH) -nz 64 -time 1s -failures 2

soak: ## SOAK (a million) random schedules of sections and jobs, fewer of recovery and hosts
	INTRA_SOAK=$(SOAK) $(GO) test -timeout 24h -v -run 'Schedules|Simulation' ./internal/replica/section ./internal/testkit/simulation
	INTRA_SOAK=$$(($(SOAK) / 5)) $(GO) test -timeout 24h -v -run 'Recovery|AnyOrder|RunsAgain$$|Schedules|TakeNext' ./comm ./internal/recovery ./transport/sdr
	INTRA_SOAK=$$(($(SOAK) / 10)) $(GO) test -timeout 24h -v -run 'Walks' ./internal/head
	INTRA_SOAK=$$(($(SOAK) / 10)) $(GO) test -timeout 24h -v -run 'Schedules' ./internal/replica/kept
	INTRA_SOAK=$(SOAK) $(GO) test -timeout 24h -v -run 'Schedules|Agreement' ./internal/replica/verify
	INTRA_SOAK=$$(($(SOAK) / 100)) $(GO) test -timeout 24h -v -run 'Schedules|LossesOneByOne' ./internal/head/arbiter
	INTRA_SOAK=$(SOAK) $(GO) test -timeout 24h -v -run 'Schedules|Walks' ./internal/replica/direct
	INTRA_SOAK=$(SOAK) $(GO) test -timeout 24h -v -run 'Schedules' ./internal/replica/outfile
	INTRA_MATRIX=1 $(GO) test -race -timeout 2h -count 40 -run TestLink/4096 ./transport/shm

rules: ## take every rule of the protocols whose file or name matches RULES out in turn: a simulation has to fail
	@for package in internal/testkit/simulation internal/head internal/agent/agentlog internal/replica/verify internal/replica/section internal/replica/kept internal/replica/outfile internal/recovery internal/job comm transport/sdr; do \
	  INTRA_RULES='$(RULES)' $(GO) test -timeout 24h -count 1 -v -run '^TestRules(OfTheHead)?AreNeeded$$' ./$$package || exit 1; \
	done

weibull: ## HPCCG on hosts whose processes die at random for minutes and come back (root)
	INTRA_WEIBULL=$(WEIBULL) $(GO) test -timeout 24h -count 1 -v -run '^TestWeibullOnHosts$$' $(SYSTEM)

attack: ## ATTACK random jobs of real processes in which anything fails; INTRA_SEED=S replays one
	INTRA_ATTACK=$(ATTACK) $(GO) test -timeout 24h -count 1 -v $(SYSTEM)/attack

programs: ## PROGRAMS random kernels with right and wrong clauses, and messages between ranks; INTRA_SEED=S begins there
	INTRA_PROGRAMS=$(PROGRAMS) $(GO) test -timeout 24h -count 1 -v $(SYSTEM)/clauses

flips: ## FLIPS jobs of real processes with one bit turned, and ten times as many without; INTRA_SEED=S begins there
	INTRA_FLIPS=$(FLIPS) $(GO) test -timeout 24h -count 1 -v -run '^Test(No)?Flips$$' $(SYSTEM)

files: ## FILES random jobs that write files, in which processes die at any step; INTRA_SEED=S begins there
	INTRA_FILES=$(FILES) $(GO) test -timeout 24h -count 1 -parallel 2 -v $(SYSTEM)/files

hostfiles: ## hosts that are lost with what they have written since the last fsync, and quotas, over FUSE (root)
	cd internal/testkit/systemtest/hostfiles && $(GO) vet ./... && $(GO) test -vet=off -timeout 30m ./...

keep: ## KEEP random jobs that keep results on one host, and a tenth on hosts that are lost, cut off and drained (root); INTRA_SEED=S begins there
	INTRA_KEEP=$(KEEP) $(GO) test -timeout 24h -count 1 -parallel 2 -v -run '^TestKeptResults$$' $(SYSTEM)
	INTRA_KEEP_HOSTS=$$((($(KEEP)+9)/10)) $(GO) test -timeout 24h -count 1 -v -run '^TestKeptResultsOnHosts$$' $(SYSTEM)

chaos: ## HPCCG on hosts that fail in CHAOS ways (root); INTRA_SEED=S replays one
	INTRA_CHAOS=$(CHAOS) $(GO) test -timeout 24h -count 1 -v -run '^TestChaos(OfTheHead)?$$' $(SYSTEM)

notices: ## NOTICES random jobs whose hosts leave on notice, are taken away and join (root); INTRA_SEED=S begins there
	INTRA_NOTICES=$(NOTICES) $(GO) test -timeout 24h -count 1 -parallel 2 -v $(SYSTEM)/notices

watch: ## WATCH seconds of jobs on hosts of an overloaded machine: no false alarm (root)
	INTRA_WATCH=$(WATCH) $(GO) test -timeout 24h -count 1 -v -run '^TestWatch$$' $(SYSTEM)

mpi: ## MPI_KILLS processes of jobs over Open MPI and over MPICH die at random points; INTRA_SEED=S replays
	INTRA_MPI_KILLS=$(MPI_KILLS) $(GO) test -timeout 24h -count 1 -v -run '^TestKilledAtRandom$$' $(SYSTEM)/mpi

fuzz: ## every fuzz target for FUZZTIME
	@for target in FuzzHeader:./transport FuzzReader:./transport/tcp FuzzReconnecting:./transport/tcp FuzzRing:./transport/shm \
	    FuzzFrames:./transport/sdr FuzzPosition:./transport/sdr FuzzRecord:./comm FuzzOpen:./internal/head/arbiter FuzzParseMessage:./update FuzzVectors:./kernels/internal/simd \
	    FuzzSliced:./kernels FuzzRead:./kernels/matrix FuzzDigest:./internal/checked FuzzRankPosition:./internal/replica/engine FuzzParseWord:./internal/replica/engine \
	    FuzzManifest:./internal/base/checkpoint FuzzFile:./internal/base/checkpoint FuzzIndex:./internal/base/checkpoint \
	    FuzzDecodeMessage:./internal/job FuzzAcceptHandshake:./internal/job FuzzReadCall:./internal/job FuzzDialHandshake:./internal/job \
	    FuzzExpandNames:./internal/job FuzzReadFrame:./internal/agent/agentwire FuzzRemote:./internal/launch \
	    FuzzFindDirectives:./annotations FuzzParseTask:./annotations FuzzParseSection:./annotations FuzzParseState:./annotations; do \
	  $(GO) test -run XXX -fuzz "^$${target%%:*}$$" -fuzztime $(FUZZTIME) "$${target#*:}" || exit 1; \
	done

house: ## the sizes of the rooms, what they import, the largest types
	$(GO) run ./internal/testkit/house sizes

comments: ## 200 comments drawn at random, for somebody who has not written them; SEED=S draws others
	$(GO) run ./internal/testkit/house comments $(SEED)

clean: ## remove what was built
	rm -rf $(BIN)
