# The commands of this repository. Go and a network on the first run are all they need;
# "make test" also uses PostgreSQL and MariaDB where they are installed, and says at its end what it left out.

GO ?= go
QUICKSTART := testdata/quickstart

# Each module is built as its users see it. The workspace is for editors.
export GOWORK := off

.PHONY: demo test soak lint generate clean

# demo shows that the quickstart's committed code is what idemgen generates, then runs it.
demo:
	$(GO) run ./cmd/idemgen check -C $(QUICKSTART) ./...
	@echo "idemgen check: the committed code is what idemgen generates, nothing to change."
	@echo
	cd $(QUICKSTART) && $(GO) run .
	@echo
	cd $(QUICKSTART) && $(GO) run . -lifecycle -events 10000

# test vets and tests every module.
test:
	$(GO) run ./internal/testrun

# soak clears a million expired keys with two janitors while deliveries go on, on every database that is there, and tells how long
# the deliveries took before and meanwhile. It takes some minutes.
soak:
	cd testdata/e2e && IDEMGEN_SOAK=1000000 $(GO) test -count=1 -timeout 60m -v -run 'TestEffects26' -parallel 1 .

# lint checks the style of the root module and the runtime with the pinned staticcheck.
lint:
	test -z "$$(gofmt -l cmd generator internal runtime templates *.go testdata/quickstart testdata/e2e)"
	$(GO) tool -modfile=testdata/tools/go.mod staticcheck ./...
	cd runtime && $(GO) tool -modfile=../testdata/tools/go.mod staticcheck ./...

# generate rewrites what idemgen makes: the example modules, the scenarios' outputs and two pages of docs/.
generate:
	$(GO) run ./cmd/idemgen -C $(QUICKSTART) ./...
	$(GO) run ./cmd/idemgen -C testdata/e2e ./...
	$(GO) test ./cmd/idemgen -run 'TestScenarios' -update
	$(GO) test . -run 'TestDocs' -update

clean:
	rm -f idemgen coverage.txt
