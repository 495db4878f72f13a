package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// killWorker has the event handled by another process, and kills that in the middle of the transaction.
func (q *queue) killWorker(ctx context.Context, a attempt) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, "-victim", "-db", q.settings.database, fmt.Sprintf("-unguarded=%t", q.settings.unguarded))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, cmd.Process.Kill())
		var exit *exec.ExitError
		if waited := cmd.Wait(); !errors.As(waited, &exit) { // killed, as it should be
			err = errors.Join(err, fmt.Errorf("the worker process was not killed: %v", waited))
		}
	}()
	if err := json.NewEncoder(stdin).Encode(a.message); err != nil {
		return err
	}
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		return fmt.Errorf("the worker process did not get to the middle of its transaction: %w", err)
	}
	return nil
}

// beVictim is that other process. It says when it is in the middle of the transaction and goes no further.
func beVictim(ctx context.Context, s settings, stdin io.Reader, stdout io.Writer) (err error) {
	var m message
	in := bufio.NewReader(stdin)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return err
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return err
	}
	db, err := open(s.database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	m.Deliveries = []delivery{{}}
	ctx = context.WithValue(ctx, midway{}, func() {
		fmt.Fprintln(stdout, "in the middle")
		_, _ = in.ReadByte() // until killed; it returns only where the parent is gone
		os.Exit(1)
	})
	q := newQueue(newShop(s, db), s, &tally{})
	return q.call(ctx, attempt{message: &m})
}
