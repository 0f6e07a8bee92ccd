/** Channel on which processes tell each other what was committed. */
export const NEWS_CHANNEL = 'ledger_news'

/** How far a company's ledger has come. */
export interface News {
  readonly companyId: number
  readonly revision: number
}

/** More companies than fit into one message: whoever waits for any has to look. */
export const TOO_MUCH = '*'

/** A message may have 7,999 bytes, and a company takes 34 at the most. */
const COMPANIES_OF_A_MESSAGE = 200
const MESSAGES = 10

/** The messages that tell these news: few, and each short enough for Postgres. */
export function messagesOf(news: readonly News[]): string[] {
  if (news.length > COMPANIES_OF_A_MESSAGE * MESSAGES) return [TOO_MUCH]
  const messages: string[] = []
  for (let from = 0; from < news.length; from += COMPANIES_OF_A_MESSAGE) {
    const some = news.slice(from, from + COMPANIES_OF_A_MESSAGE)
    messages.push(some.map(({ companyId, revision }) => `${companyId}:${revision}`).join(','))
  }
  return messages
}

/** What a message tells; null for one that does not say it all. */
export function newsOf(message: string): News[] | null {
  if (!/^\d{1,16}:\d{1,16}(,\d{1,16}:\d{1,16})*$/.test(message)) return null
  return message.split(',').map((entry) => {
    const [companyId, revision] = entry.split(':').map(Number) as [number, number]
    return { companyId, revision }
  })
}
