/**
 * Whether an error means that Postgres could not be reached, is starting or stopping, or ran into a lock or statement
 * time-out: nothing is wrong with the request, and a retry may succeed.
 */
export function isOutage(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: string }
  if (typeof code !== 'string') {
    return /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error)/.test(
      message ?? '',
    )
  }
  return /^(08|53|57)...$|^(55P03|40001|40P01|25P03|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOENT|ENOTFOUND|EAI_AGAIN)$/.test(
    code,
  )
}
