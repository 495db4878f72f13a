package idemtest

import (
	"context"
	"errors"
	"time"

	"github.com/idemgen/idemgen/runtime/idem"
)

// Job is what a process does that the suite has killed.
type Job struct {
	// Stage is where it is killed.
	Stage string
	// ID is the order's that it handles.
	ID string
}

// The stages of a Job.
const (
	StageInTransaction = "in the transaction"
	StageCommitted     = "after the commit"
	StageCharged       = "in the run of a lease"
	StageParking       = "in the run of a lease that is to be parked"
	StageStepping      = "in the transaction of a transition"
	StageStepped       = "after the commit of a transition"
)

// workersLease is the lease of a worker process, which the suite waits for.
const workersLease = idem.MinLease

// killedBy is what a worker process's result says.
const killedBy = "the worker process"

// Worker does a job: it delivers an order at a place, of which it uses Guard, Effect and Steps. At each stage it calls reached, which
// returns at once, or, at the job's own, not before the process is killed.
func Worker[Tx any](ctx context.Context, p Place[Tx], j Job, reached func(stage string) error) error {
	o := order{Tenant: "acme", ID: j.ID, Total: 4200, Attempt: 1}
	g := p.Guard()
	var err error
	switch j.Stage {
	case StageCharged, StageParking:
		spec := leased("Charge", workersLease)
		if j.Stage == StageParking {
			spec.Expired = idem.Park
		}
		_, err = idem.NewLease(g, spec, func(context.Context, order) (receipt, error) {
			return receipt{By: killedBy}, reached(j.Stage)
		}).Do(ctx, o)
	case StageStepping, StageStepped:
		err = p.Steps.transition(g, confirm, func(ctx context.Context, tx Tx, o order) error {
			return errors.Join(p.Effect(ctx, tx, o.ID), reached(StageStepping))
		}).Do(ctx, o)
		if err == nil {
			err = reached(StageStepped)
		}
	default:
		_, err = idem.NewHandler(g, specOf("Place"), func(ctx context.Context, tx Tx, o order) (receipt, error) {
			if err := p.Effect(ctx, tx, o.ID); err != nil {
				return receipt{}, err
			}
			return receipt{By: killedBy}, reached(StageInTransaction)
		}).Do(ctx, o)
		if err == nil {
			err = reached(StageCommitted)
		}
	}
	return errors.Join(err, errors.New("it was not killed"))
}

func (f *fixture[Tx]) killedInTransaction() {
	o := fresh()
	f.Kill(Job{StageInTransaction, o.ID})
	f.clean()
	f.equal("the run", f.result(f.placing(f.place), o).By, "run 1")
	f.effects(1)
	f.states("done")
}

func (f *fixture[Tx]) killedAfterCommit() {
	o := fresh()
	f.Kill(Job{StageCommitted, o.ID})
	f.equal("the run", f.result(f.placing(f.place), o).By, killedBy)
	f.effects(1)
	f.equal("runs", f.runs.Load(), int64(0))
}

func (f *fixture[Tx]) leaseKilled() {
	o := fresh()
	f.Kill(Job{StageCharged, o.ID})
	start := time.Now()
	f.equal("the run", f.result(f.charging(leased("Charge", workersLease), f.charge, f.long()), o).By, "run 1")
	if waited := time.Since(start); waited > f.patience/2 {
		f.Errorf("it waited %s for a lease of %s", waited, workersLease)
	}
	f.equal("the fence", f.only().Fence, int64(2))

	f.Clear()
	f.Kill(Job{StageParking, o.ID})
	spec := leased("Charge", workersLease)
	spec.Expired = idem.Park
	d := f.charging(spec, f.charge, f.long())
	f.wants(d, o, idem.ErrParked)
	f.wants(d, o, idem.ErrParked)
	f.states("parked")
	f.equal("runs", f.runs.Load(), int64(1))
}
