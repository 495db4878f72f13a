package analyze

import (
	"go/types"
	"regexp"
	"strings"
)

// brokers are the types of messages as brokers deliver them. Their IDs and metadata are of the delivery or the queue;
// the business ID is in the body, which has to be decoded first.
var brokers = []struct{ path, name, label string }{
	{"github.com/ThreeDotsLabs/watermill/message", "Message", "Watermill"},
	{"github.com/nats-io/nats.go", "Msg", "NATS"},
	{"github.com/nats-io/nats.go/jetstream", "Msg", "JetStream"},
	{"github.com/rabbitmq/amqp091-go", "Delivery", "RabbitMQ"},
	{"github.com/streadway/amqp", "Delivery", "RabbitMQ"},
	{"github.com/Azure/go-amqp", "Message", "AMQP"},
	{"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus", "ReceivedMessage", "Azure Service Bus"},
	{"github.com/twmb/franz-go/pkg/kgo", "Record", "Kafka"},
	{"github.com/twmb/franz-go/pkg/kgo", "Fetches", "Kafka"},
	{"github.com/segmentio/kafka-go", "Message", "Kafka"},
	{"github.com/IBM/sarama", "ConsumerMessage", "Kafka"},
	{"github.com/Shopify/sarama", "ConsumerMessage", "Kafka"},
	{"github.com/confluentinc/confluent-kafka-go/kafka", "Message", "Kafka"},
	{"github.com/hibiken/asynq", "Task", "asynq"},
	{"github.com/aws/aws-lambda-go/events", "SQSEvent", "SQS"},
	{"github.com/aws/aws-lambda-go/events", "SQSMessage", "SQS"},
	{"github.com/aws/aws-lambda-go/events", "SNSEvent", "SNS"},
	{"github.com/aws/aws-lambda-go/events", "KinesisEvent", "Kinesis"},
	{"github.com/aws/aws-lambda-go/events", "DynamoDBEvent", "DynamoDB streams"},
	{"github.com/aws/aws-lambda-go/events", "KafkaEvent", "Kafka"},
	{"github.com/aws/aws-sdk-go-v2/service/sqs/types", "Message", "SQS"},
	{"github.com/aws/aws-sdk-go/service/sqs", "Message", "SQS"},
	{"cloud.google.com/go/pubsub", "Message", "Pub/Sub"},
	{"gocloud.dev/pubsub", "Message", "Pub/Sub"},
	{"github.com/nsqio/go-nsq", "Message", "NSQ"},
	{"github.com/apache/pulsar-client-go/pulsar", "Message", "Pulsar"},
	{"github.com/redis/go-redis", "XMessage", "Redis streams"},
	{"github.com/cloudevents/sdk-go/event", "Event", "CloudEvents"},
	{"github.com/gocraft/work", "Job", "gocraft/work"},
	{"github.com/contribsys/faktory_worker_go", "Job", "Faktory"},
	{"net/http", "Request", "HTTP"},
}

// version is a major version in an import path.
var version = regexp.MustCompile(`/v[0-9]+(/|$)`)

// brokerOf names the broker whose message t is, points to, or is a list of; empty for none.
func brokerOf(t types.Type) string {
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
				return ""
			}
			path := strings.TrimSuffix(version.ReplaceAllString(u.Obj().Pkg().Path(), "/"), "/")
			for _, b := range brokers {
				if b.path == path && b.name == u.Obj().Name() {
					return b.label
				}
			}
		}
		return ""
	}
}
