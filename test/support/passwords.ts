import { hash } from '@node-rs/argon2'

/** Valid hash with minimal cost; test/access/ tests the real cost. */
export const cheapHash = (password: string): Promise<string> =>
  hash(password, { memoryCost: 8, timeCost: 1, parallelism: 1 })
