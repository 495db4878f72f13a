package analyze

import (
	"go/types"
	"regexp"
	"strings"
)

// brokers are the types of messages as brokers deliver them. Their IDs and metadata are of the delivery or the queue;
// the business ID is in the body, which has to be decoded first. Body is the field that holds it where the broker's
// library has decoded it already: what is in there can be a key.
var brokers = []struct{ path, name, label, body string }{
	{"github.com/ThreeDotsLabs/watermill/message", "Message", "Watermill", ""},
	{"github.com/nats-io/nats.go", "Msg", "NATS", ""},
	{"github.com/nats-io/nats.go/jetstream", "Msg", "JetStream", ""},
	{"github.com/rabbitmq/amqp091-go", "Delivery", "RabbitMQ", ""},
	{"github.com/streadway/amqp", "Delivery", "RabbitMQ", ""},
	{"github.com/Azure/go-amqp", "Message", "AMQP", ""},
	{"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus", "ReceivedMessage", "Azure Service Bus", ""},
	{"github.com/twmb/franz-go/pkg/kgo", "Record", "Kafka", ""},
	{"github.com/twmb/franz-go/pkg/kgo", "Fetches", "Kafka", ""},
	{"github.com/segmentio/kafka-go", "Message", "Kafka", ""},
	{"github.com/IBM/sarama", "ConsumerMessage", "Kafka", ""},
	{"github.com/Shopify/sarama", "ConsumerMessage", "Kafka", ""},
	{"github.com/confluentinc/confluent-kafka-go/kafka", "Message", "Kafka", ""},
	{"github.com/hibiken/asynq", "Task", "asynq", ""},
	{"github.com/aws/aws-lambda-go/events", "SQSEvent", "SQS", ""},
	{"github.com/aws/aws-lambda-go/events", "SQSMessage", "SQS", ""},
	{"github.com/aws/aws-lambda-go/events", "SNSEvent", "SNS", ""},
	{"github.com/aws/aws-lambda-go/events", "KinesisEvent", "Kinesis", ""},
	{"github.com/aws/aws-lambda-go/events", "DynamoDBEvent", "DynamoDB streams", ""},
	{"github.com/aws/aws-lambda-go/events", "KafkaEvent", "Kafka", ""},
	{"github.com/aws/aws-sdk-go-v2/service/sqs/types", "Message", "SQS", ""},
	{"github.com/aws/aws-sdk-go/service/sqs", "Message", "SQS", ""},
	{"cloud.google.com/go/pubsub", "Message", "Pub/Sub", ""},
	{"gocloud.dev/pubsub", "Message", "Pub/Sub", ""},
	{"github.com/nsqio/go-nsq", "Message", "NSQ", ""},
	{"github.com/apache/pulsar-client-go/pulsar", "Message", "Pulsar", ""},
	{"github.com/redis/go-redis", "XMessage", "Redis streams", ""},
	{"github.com/cloudevents/sdk-go/event", "Event", "CloudEvents", ""},
	{"github.com/riverqueue/river", "Job", "River", "Args"},
	{"github.com/riverqueue/river/rivertype", "JobRow", "River", ""},
	{"github.com/gocraft/work", "Job", "gocraft/work", ""},
	{"github.com/contribsys/faktory_worker_go", "Job", "Faktory", ""},
	{"net/http", "Request", "HTTP", ""},
}

// version is a major version in an import path.
var version = regexp.MustCompile(`/v[0-9]+(/|$)`)

// unversioned is an import path without a major version.
func unversioned(path string) string {
	return strings.TrimSuffix(version.ReplaceAllString(path, "/"), "/")
}

// brokerOf names the broker whose message t is, points to, or is a list of, and the message's field with a decoded body;
// both are empty for none.
func brokerOf(t types.Type) (label, body string) {
	for {
		switch u := types.Unalias(t).(type) {
		case *types.Pointer:
			t = u.Elem()
			continue
		case *types.Slice:
			t = u.Elem()
			continue
		case *types.Named:
			if u.Obj().Pkg() == nil {
				return "", ""
			}
			for _, b := range brokers {
				if b.name == u.Obj().Name() && b.path == unversioned(u.Obj().Pkg().Path()) {
					return b.label, b.body
				}
			}
		}
		return "", ""
	}
}
