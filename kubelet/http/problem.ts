/** An answer other than 200: the kubelet speaks plain text. */
export class Problem extends Error {
  readonly code: number
  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}
