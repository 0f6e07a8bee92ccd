import { limitedText } from '#domain/text.ts'
import type { Option } from '../../forms/kinds.ts'
import type { PageContext } from '../../route.ts'
import { actorOptions, namesOfActors } from '../../ui/history.tsx'

/** A seller as filters name it (`sellerOf`). */
export const SellerKey = limitedText(130, 'não é ninguém').regex(
  /^(none|user\/[1-9]\d{0,14}|name\/.+)$/s,
  'não é ninguém',
)

const isUser = (key: string): boolean => key.startsWith('user/')

/** Names of sellers for people; free names are withheld from users who see no personal data. */
export async function namesOfSellers(
  { readModel, session }: PageContext,
  keys: readonly string[],
): Promise<(key: string) => string> {
  const users = await namesOfActors(
    readModel,
    keys.filter(isUser).map((actor) => ({ actor })),
  )
  return (key) => {
    if (isUser(key)) return users(key)
    if (key === 'none') return 'Sem vendedor'
    return session.seesPersonalData ? key.slice('name/'.length) : 'Outro vendedor'
  }
}

/** Filter options: the users, no seller, and the seller in the address. */
export async function sellerOptions(visit: PageContext): Promise<Option[]> {
  const asked = visit.query.seller
  const users = (await actorOptions(visit.readModel)).filter(({ value }) => isUser(value))
  const options = [...users, { value: 'none', label: 'Sem vendedor' }]
  if (!asked || options.some(({ value }) => value === asked) || !SellerKey.safeParse(asked).success) return options
  return [...options, { value: asked, label: (await namesOfSellers(visit, [asked]))(asked) }]
}
