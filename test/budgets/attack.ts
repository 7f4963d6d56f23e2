/** What an attack is made of, and what it may cost. */
import type { Attacker } from './attacker.ts'

/** `anonymous` has no credentials; `admin` may do everything, and must not hold up the others either. */
export type Client = 'anonymous' | 'admin'

export interface Request {
  method?: string
  path: string
  /** Default: application/json. */
  type?: string
  headers?: Record<string, string>
  body?: string | Buffer
}

/** CPU time is that of the server's whole process; what is received counts without TLS. */
export interface Budget {
  /** For each byte received. */
  nsPerByte: number
  /** For each request, connection or handshake on top of its bytes. */
  msPerRequest: number
  /** CPU time of the server that a bystander's request waits for: 99 of 100 wait for no more. */
  bystanderMs: number
  /** Growth of the server's memory while the attack lasts. */
  rssMb: number
}

export const defaultBudget: Budget = { nsPerByte: 800, msPerRequest: 0, bystanderMs: 400, rssMb: 200 }

interface Common {
  name: string
  /** Default: anonymous. */
  by?: Client
  budget?: Partial<Budget>
}

export type Attack = Common &
  (
    | {
        /** On one HTTP/2 connection, after the preface and these SETTINGS. */
        frames: () => Buffer[]
        settings?: [number, number][]
      }
    | {
        /** On each of so many connections over HTTP/1.1. */
        bytes: () => Buffer[]
        connections?: number
      }
    | {
        /** One after the other over HTTP/2. */
        requests: () => Request[]
        /** Codes that are right as an answer; a code of 500 never is. */
        answers: number[]
      }
    | {
        /** What needs more than one connection, or a client that does not read. */
        act: (attacker: Attacker) => Promise<void>
      }
  )
