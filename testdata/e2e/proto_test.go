package e2e

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"database/sql"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/idemgen/idemgen/runtime/idem"
	"github.com/idemgen/idemgen/runtime/idemtest"

	"github.com/idemgen/idemgen/testdata/e2e/liteshop/idemdb"
	"github.com/idemgen/idemgen/testdata/e2e/protoshop"
)

// sealedJSON is a codec that encrypts JSON.
type sealedJSON struct{ cipher.AEAD }

func newSealedJSON(t *testing.T) sealedJSON {
	block, err := aes.NewCipher(make([]byte, 32))
	require.NoError(t, err)
	aead, err := cipher.NewGCMWithRandomNonce(block)
	require.NoError(t, err)
	return sealedJSON{aead}
}

func (c sealedJSON) Encode(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	return c.Seal(nil, nil, data, nil), err
}

func (c sealedJSON) Decode(data []byte, v any) error {
	data, err := c.Open(nil, nil, data, nil)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// bill is a message with text in it and with a field that this version of its type does not know.
func bill(t *testing.T) *structpb.Struct {
	t.Helper()
	m, err := structpb.NewStruct(map[string]any{"number": "bill 17", "lines": []any{"tea", 2.0, true, nil}})
	require.NoError(t, err)
	m.ProtoReflect().SetUnknown(protowire.AppendString(protowire.AppendTag(nil, 1000, protowire.BytesType), "of tomorrow"))
	return m
}

// openProto is the generated service on a database of the test's, whose handlers return m.
func openProto(t *testing.T, m *structpb.Struct, opts ...idem.Option) (*sql.DB, func(...idem.Option) *protoshop.IdempotentService) {
	t.Helper()
	db := elsewhere(t)
	_, err := db.ExecContext(t.Context(), idemdb.Schema)
	require.NoError(t, err)
	service := &protoshop.Service{
		OnPlace: func(ctx context.Context, tx *sql.Tx, e *timestamppb.Timestamp) (*structpb.Struct, error) {
			_, err := tx.ExecContext(ctx, `INSERT INTO effects (what) VALUES (?)`, e.GetSeconds())
			return m, err
		},
		OnCharge: func(ctx context.Context, e *timestamppb.Timestamp) (*structpb.Struct, error) { return m, ctx.Err() },
	}
	return db, func(more ...idem.Option) *protoshop.IdempotentService {
		return protoshop.NewIdempotentService(service, db, append(opts, more...)...)
	}
}

// A repeat gets the message as it was, with what its type does not know; a nil one stays nil, and an empty one empty. With a
// codec of the user's, nothing of the message can be read in the row.
func TestProtoResults(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]*structpb.Struct{"full": bill(t), "empty": {}, "nil": nil} {
		for codec, opts := range map[string][]idem.Option{"plain": nil, "sealed": {idem.WithCodec(newSealedJSON(t))}} {
			t.Run(name+" "+codec, func(t *testing.T) {
				t.Parallel()
				db, open := openProto(t, m, opts...)
				e := &timestamppb.Timestamp{Seconds: 1}
				for _, do := range []func(context.Context, *timestamppb.Timestamp) (*structpb.Struct, error){open().Place, open().Charge} {
					for range 2 {
						got, err := do(t.Context(), e)
						require.NoError(t, err)
						assert.Equal(t, m == nil, got == nil)
						assert.True(t, proto.Equal(m, got), "%v", got)
					}
				}
				var rows, readable int
				require.NoError(t, db.QueryRowContext(t.Context(),
					`SELECT count(*), sum(instr(result, CAST('bill 17' AS BLOB)) > 0) FROM idempotency_keys`).Scan(&rows, &readable))
				assert.Equal(t, 2, rows)
				assert.Equal(t, name == "full" && codec == "plain", readable == 2)
			})
		}
	}
}

// What is no message any more is an error of its own, and no reason to run again.
func TestProtoResultThatDoesNotDecode(t *testing.T) {
	t.Parallel()
	db, open := openProto(t, bill(t))
	e := &timestamppb.Timestamp{Seconds: 1}
	_, err := open().Place(t.Context(), e)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), `UPDATE idempotency_keys SET result = x'0aff'`)
	require.NoError(t, err)
	_, err = open().Place(t.Context(), e)
	var torn *idem.ResultError
	require.ErrorAs(t, err, &torn)
	var n int
	require.NoError(t, db.QueryRowContext(t.Context(), `SELECT count(*) FROM effects`).Scan(&n))
	assert.Equal(t, 1, n)
}

// The harness compares messages without help.
func TestProtoReplay(t *testing.T) {
	t.Parallel()
	db, open := openProto(t, bill(t))
	idemtest.Replay(t, idemtest.Case[*timestamppb.Timestamp, *structpb.Struct]{
		Handler: func(opts ...idem.Option) idemtest.Handler[*timestamppb.Timestamp, *structpb.Struct] {
			return open(opts...).PlaceHandler()
		},
		Event: func(i int) *timestamppb.Timestamp { return &timestamppb.Timestamp{Seconds: int64(i + 1)} },
		Effects: func(ctx context.Context, e *timestamppb.Timestamp) (n int, err error) {
			err = db.QueryRowContext(ctx, `SELECT count(*) FROM effects WHERE what = ?`, e.GetSeconds()).Scan(&n)
			return n, err
		},
	})
}
