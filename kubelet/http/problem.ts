/** An answer other than 200: the kubelet speaks plain text. */
export class Problem extends Error {
  readonly code: number
  readonly headers: Readonly<Record<string, string>>
  constructor(code: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message)
    this.code = code
    this.headers = headers
  }
}
