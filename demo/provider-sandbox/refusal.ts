/** A control call that makes no sense. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message)
  }
}
