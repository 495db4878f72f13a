package analyze

import (
	"slices"
	"strings"

	"github.com/idemgen/idemgen/generator/internal/names"
)

// attemptNames are what fields are called that differ between two deliveries of one message: they count or locate a
// delivery, or say when it took place. A key with one of them in it recognises no repeat. Only these exact names are
// refused; IDs that a sender may or may not keep over its own retries (MessageID, RequestID), and words that a business
// can use for its own (DeliveryID, DeliveredAt), are a matter for review.
var attemptNames = []string{
	"ApproximateReceiveCount", "Attempt", "AttemptCount", "AttemptNo", "AttemptNum", "AttemptNumber", "Attempts",
	"ConsumerTag", "DeliveryAttempt", "DeliveryAttempts", "DeliveryCount", "DeliveryTag", "DequeueCount",
	"DequeuedAt", "EnqueuedAt", "NumDelivered", "Offset", "Partition", "ReceiptHandle",
	"ReceiveCount", "ReceivedAt", "Redelivered", "RedeliveryCount", "Retries", "Retry", "RetryAttempt", "RetryCount",
	"RetryNumber", "SpanID", "Timestamp", "TraceID", "TraceParent", "Traceparent",
}

// namesAttempt says that a field, getter or parameter is called like something of a delivery.
func namesAttempt(name string) bool {
	name = strings.TrimSuffix(name, "()")
	if rest, ok := strings.CutPrefix(name, "Get"); ok && rest != "" {
		name = rest
	}
	name = names.Exported(name)
	if rest, ok := strings.CutSuffix(name, "Id"); ok {
		name = rest + "ID"
	}
	return slices.Contains(attemptNames, name)
}
