import type { z } from 'zod'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { describeIssues } from '#domain/validation.ts'

/** Lists what filters ask for, once they make sense; what does not is told as a command's input would be. */
export async function searched<F, T>(
  schema: z.ZodType<F>,
  asked: Readonly<Record<string, string>>,
  list: (filters: F) => Promise<T | Refusal>,
): Promise<T | Refusal> {
  const parsed = schema.safeParse(asked)
  if (!parsed.success) return refuse('validation_failed', { ...describeIssues(parsed.error) })
  return list(parsed.data)
}
