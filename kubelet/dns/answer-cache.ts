/** An answer that is the same until Services change, but for the order of its records. */
export interface Rotation {
  /** Counts its orders, of which each is sent as often as another; 0 and 1: there is one. */
  orders: number
  write(order: number): Buffer
}

interface Kept extends Rotation {
  written: (Buffer | undefined)[]
}

const MAX_ANSWERS = 4_096
/** Longer questions come from no resolver of a pod. */
const MAX_QUESTION = 512
/** The bytes of answers with more orders are not kept. */
const MAX_ORDERS = 64

/** Keeps answers as they are sent, by all of the question but its id. */
export class AnswerCache {
  readonly #answers = new Map<string, Kept>()

  /** Returns the answer with the id of the question; undefined if it is not kept. */
  find(question: Buffer): Buffer | undefined {
    const kept = question.length <= MAX_QUESTION ? this.#answers.get(keyOf(question)) : undefined
    return kept && answerOf(kept, question)
  }

  /** Keeps an answer, and returns it for the question. */
  keep(question: Buffer, { orders, write }: Rotation): Buffer {
    const kept: Kept = { orders, write, written: [] }
    if (this.#answers.size >= MAX_ANSWERS) this.clear()
    if (question.length <= MAX_QUESTION) this.#answers.set(keyOf(question), kept)
    return answerOf(kept, question)
  }

  clear(): void {
    this.#answers.clear()
  }
}

const keyOf = (question: Buffer): string => question.toString('latin1', 2)

/** The bytes may still be on their way to another client: each gets its own. */
function answerOf({ orders, write, written }: Kept, question: Buffer): Buffer {
  const order = orders > 1 ? Math.floor(Math.random() * orders) : 0
  const bytes = written[order] ?? write(order)
  if (orders <= MAX_ORDERS) written[order] = bytes
  const answer = Buffer.from(bytes)
  question.copy(answer, 0, 0, 2)
  return answer
}
