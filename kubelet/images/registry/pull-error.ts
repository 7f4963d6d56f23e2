/** Says why an image could not be pulled; `code` is that of the status with which containerd answers the kubelet. */
export class PullError extends Error {
  readonly code: 'NotFound' | 'Unknown'

  constructor(message: string, code: PullError['code'] = 'Unknown') {
    super(message)
    this.code = code
  }
}
