/** Describes a request that needs no network. */
export interface InjectedRequest {
  /** Sets the method; GET by default. */
  method?: string
  /** Sets the path, with its query: `/api/v1/pods?limit=1`. */
  url: string
  headers?: Record<string, string>
  /** Sets the body. Objects are sent as JSON. */
  payload?: string | Buffer | object
}

/** Holds the answer to such a request. */
export interface InjectedAnswer {
  statusCode: number
  headers: Record<string, string | number | string[] | undefined>
  /** Holds the body as text. */
  body: string
  rawBody: Buffer
  /** Returns the parsed body. Throws a SyntaxError if the body is not JSON. */
  json<Body = unknown>(): Body
}
