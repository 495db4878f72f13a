package generator

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSnake(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"ServicePlaceOrder": "service_place_order",
		"Settle":            "settle",
		"HTTPGet2":          "http_get2",
		"ServiceIDs":        "service_i_ds",
		"Service_Place":     "service_place",
		"ÜberweisungÄndern": "überweisung_ändern",
		"PlaceID":           "place_id",
	} {
		assert.Equal(t, want, snake(name))
	}
}
