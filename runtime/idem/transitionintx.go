package idem

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
)

func (m *mover[Tx, DB, E]) inTx(ctx context.Context, tx Tx, e E) (err error) {
	d := delivery{joined: true}
	defer m.begin(ctx, e, &d, &err)()
	if m.err != nil {
		return m.fail(&d, m.err)
	}
	if d.key, err = m.spec.Row(e); err != nil {
		return m.fail(&d, err)
	}
	d.until = time.Now().Add(m.guard.settings.inFlightTimeout)
	for {
		next, err := m.joinOnce(ctx, tx, e, &d)
		switch {
		case next != unclaimed:
			return err
		case !errors.Is(err, ErrUnmoved) && m.guard.driver.Classify(err) == driver.Conflict:
			return m.fail(&d, fmt.Errorf("update: %w", err))
		case !errors.Is(err, ErrUnmoved) || time.Until(d.until) <= 0 || d.retries >= maxUnmoved:
			return m.tooLate(&d, err)
		}
		if perr := pause(ctx, d.retries); perr != nil {
			return m.tooLate(&d, perr)
		}
		d.retries++
	}
}

func (m *mover[Tx, DB, E]) joinOnce(ctx context.Context, tx Tx, e E, d *delivery) (step, error) {
	s, err := m.driver.JoinTransition(tx)
	if err != nil {
		return ended, m.fail(d, err)
	}
	defer s.Close(ctx)
	return m.once(ctx, s, e, d)
}
