export interface InjectedRequest {
  /** Default: GET. */
  method?: string
  /** The path, with its query: `/api/v1/pods?limit=1`. */
  url: string
  headers?: Record<string, string>
  /** Objects are sent as JSON. */
  payload?: string | Buffer | object
}

export interface InjectedAnswer {
  statusCode: number
  headers: Record<string, string | number | string[] | undefined>
  /** As text. */
  body: string
  rawBody: Buffer
  /** The body parsed. Throws a SyntaxError where it is no JSON. */
  json<Body = unknown>(): Body
}
