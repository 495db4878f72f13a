package idem

import (
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/store"
)

// shrunk is the end that is tried after err. What has taken place has to be recorded, and a value that the database has no
// room for must not be in the way of that: the row says done without the result, as of one over the limit, or failed with a
// text that every database can hold. Where the database says that there is no room, that is so at once. Of a large result it
// may say nothing and close the connection, or need longer than there is; so that is left out once half of the time is over.
func (l *Lease[E, R]) shrunk(end store.End, err error, deadline time.Time) store.End {
	switch {
	case l.classify(err) == driver.NoRoom:
	case len(end.Result) > DefaultResultLimit && time.Until(deadline) <= l.finishTime()/2:
	default:
		return end
	}
	end.Result, end.Failure = nil, plainText(end.Failure)
	return end
}

// finishTime is how long the end of a run is tried to be recorded.
func (l *Lease[E, R]) finishTime() time.Duration {
	return max(driver.EndTimeout, l.settings.inFlightTimeout)
}
