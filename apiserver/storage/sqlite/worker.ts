import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { Database } from './database.ts'
import type { Order, Report } from './messages.ts'
import { isFull, reasonOf } from './reasons.ts'

/** Rows per message while the file is read. */
const batchSize = 100

let isKnownFull = false
const port = parentPort as MessagePort
const report = (message: Report): void => port.postMessage(message)

try {
  const database = new Database((workerData as { file: string }).file)
  const contents = contentsOf(database)
  port.on('message', (order: Order) => (order.type === 'read' ? tell(contents) : carryOut(database, order)))
} catch (error) {
  refuse(error)
}

function tell(contents: Iterator<Report>): void {
  try {
    const { value } = contents.next()
    if (value) report(value)
  } catch (error) {
    refuse(error)
  }
}

function* contentsOf(database: Database): Generator<Report> {
  const oldest = database.oldest()
  for (const entries of batches(database.entries())) yield { type: 'entries', oldest, entries }
  yield { type: 'entries', oldest, entries: [] }
  for (const changes of batches(database.changes())) yield { type: 'history', changes }
  yield { type: 'opened' }
  tellRoom(database)
}

function refuse(error: unknown): void {
  report({ type: 'refused', reason: reasonOf(error) })
  port.close()
}

/** Reports whether only deletes are written from now on. */
function tellRoom(database: Database): void {
  isKnownFull = !database.findRoom()
  report({ type: 'room', isFull: isKnownFull })
}

function carryOut(database: Database, order: Exclude<Order, { type: 'read' }>): void {
  if (order.type === 'close') {
    database.close()
    report({ type: 'closed' })
    port.close()
    return
  }
  if (order.type === 'look') {
    tellRoom(database)
    return
  }
  try {
    if (order.type === 'write') database.write(order.rows)
    else database.compact(order.revision)
    if (order.type === 'write') report({ type: 'written' })
  } catch (error) {
    // What could not be compacted now is compacted with the next.
    if (order.type !== 'write') return
    isKnownFull = isFull(error)
    report({ type: 'failed', reason: reasonOf(error), isFull: isKnownFull })
  }
  // Also a delete may have found the disk full. What is known is not said again: it could be taken for the answer to
  // `look`.
  if (order.type === 'write' && database.isFull && !isKnownFull) tellRoom(database)
}

function* batches<Item>(items: Iterable<Item>): Generator<Item[]> {
  let batch: Item[] = []
  for (const item of items) {
    if (batch.push(item) < batchSize) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}
