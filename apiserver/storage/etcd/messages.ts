/**
 * The messages of etcd's API that are used here, as data: per message its fields by number, each `name kind`.
 * `id` is a 64-bit number as text; `[]` marks a repeated field. Upstream: api/etcdserverpb/rpc.proto, kv.proto.
 */
export const messages = {
  ResponseHeader: { 1: 'cluster_id id', 3: 'revision int' },
  KeyValue: { 1: 'key text', 3: 'mod_revision int', 4: 'version int', 5: 'value text', 6: 'lease id' },
  RangeRequest: {
    1: 'key text',
    2: 'range_end text',
    3: 'limit int',
    4: 'revision int',
    8: 'keys_only bool',
    9: 'count_only bool',
  },
  RangeResponse: { 1: 'header ResponseHeader', 2: 'kvs KeyValue[]', 3: 'more bool', 4: 'count int' },
  PutRequest: { 1: 'key text', 2: 'value text', 3: 'lease id' },
  DeleteRangeRequest: { 1: 'key text', 2: 'range_end text' },
  RequestOp: {
    1: 'request_range RangeRequest',
    2: 'request_put PutRequest',
    3: 'request_delete_range DeleteRangeRequest',
  },
  ResponseOp: { 1: 'response_range RangeResponse' },
  Compare: { 1: 'result int', 2: 'target int', 3: 'key text', 4: 'version int', 6: 'mod_revision int' },
  TxnRequest: { 1: 'compare Compare[]', 2: 'success RequestOp[]', 3: 'failure RequestOp[]' },
  TxnResponse: { 1: 'header ResponseHeader', 2: 'succeeded bool', 3: 'responses ResponseOp[]' },
  CompactionRequest: { 1: 'revision int' },
  CompactionResponse: { 1: 'header ResponseHeader' },
  LeaseGrantRequest: { 1: 'TTL int' },
  LeaseGrantResponse: { 1: 'header ResponseHeader', 2: 'ID id', 3: 'TTL int' },
  StatusRequest: {},
  StatusResponse: { 1: 'header ResponseHeader', 2: 'version text' },
  WatchCreateRequest: {
    1: 'key text',
    2: 'range_end text',
    3: 'start_revision int',
    4: 'progress_notify bool',
    8: 'fragment bool',
  },
  WatchProgressRequest: {},
  WatchRequest: { 1: 'create_request WatchCreateRequest', 3: 'progress_request WatchProgressRequest' },
  WatchResponse: {
    1: 'header ResponseHeader',
    2: 'watch_id int',
    3: 'created bool',
    4: 'canceled bool',
    5: 'compact_revision int',
    6: 'cancel_reason text',
    7: 'fragment bool',
    11: 'events Event[]',
  },
  Event: { 1: 'type int', 2: 'kv KeyValue' },
} as const

export type MessageName = keyof typeof messages

type FieldText<Name extends MessageName> = (typeof messages)[Name][keyof (typeof messages)[Name]]
type NameOf<Text> = Text extends `${infer Name} ${string}` ? Name : never
type ValueOf<Kind> = Kind extends 'int'
  ? number
  : Kind extends 'bool'
    ? boolean
    : Kind extends 'id' | 'text'
      ? string
      : Kind extends `${infer Item extends MessageName}[]`
        ? Message<Item>[]
        : Kind extends MessageName
          ? Message<Kind> | undefined
          : never

/** A message as it is read: what was not sent has the zero value of its kind. */
export type Message<Name extends MessageName> = {
  [Text in FieldText<Name> as NameOf<Text>]: Text extends `${string} ${infer Kind}` ? ValueOf<Kind> : never
}

/** A message to send: what is left out is not sent. */
export type Draft<Name extends MessageName> = {
  [Text in FieldText<Name> as NameOf<Text>]?: Text extends `${string} ${infer Kind}`
    ? Kind extends `${infer Item extends MessageName}[]`
      ? readonly Draft<Item>[]
      : Kind extends MessageName
        ? Draft<Kind>
        : ValueOf<Kind>
    : never
}

/** The calls, by name: their path, and what is sent and answered. */
export const methods = {
  range: { path: '/etcdserverpb.KV/Range', request: 'RangeRequest', response: 'RangeResponse' },
  txn: { path: '/etcdserverpb.KV/Txn', request: 'TxnRequest', response: 'TxnResponse' },
  compact: { path: '/etcdserverpb.KV/Compact', request: 'CompactionRequest', response: 'CompactionResponse' },
  leaseGrant: { path: '/etcdserverpb.Lease/LeaseGrant', request: 'LeaseGrantRequest', response: 'LeaseGrantResponse' },
  status: { path: '/etcdserverpb.Maintenance/Status', request: 'StatusRequest', response: 'StatusResponse' },
} as const satisfies Record<string, { path: string; request: MessageName; response: MessageName }>

export const watchPath = '/etcdserverpb.Watch/Watch'
