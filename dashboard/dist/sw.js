// Shows Web Push messages of the hub while no tab is open, and closes them when the request
// is settled. It caches nothing and has no fetch handler.

self.addEventListener('install', () => self.skipWaiting())
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()))

self.addEventListener('push', (event) => event.waitUntil(show(event.data)))

async function show(data) {
  let message = {}
  try {
    message = data.json()
  } catch {
    // browsers require a notification for every push message
  }
  const id = Number.isSafeInteger(message.id) && message.id > 0 ? message.id : 0
  const tag = `request-${id}`
  const token = id && message.settled !== true && message.token && message.text ? String(message.token) : ''
  await self.registration.showNotification(String(message.title || 'A request is waiting'), {
    tag,
    data: { id, token },
    ...(token && {
      body: String(message.text),
      actions: [
        { action: 'approve', title: 'Approve' },
        { action: 'deny', title: 'Deny' },
      ],
    }),
    icon: '/icon-192.png',
    badge: '/icon-192.png',
    silent: message.settled === true,
    renotify: message.settled !== true,
    requireInteraction: message.settled !== true,
  })
  if (Number.isSafeInteger(message.needsYou) && 'setAppBadge' in navigator)
    await navigator.setAppBadge(message.needsYou).catch(() => undefined)
  if (message.settled !== true) return
  for (const shown of await self.registration.getNotifications({ tag })) shown.close()
}

self.addEventListener('notificationclick', (event) => {
  const { id, token } = event.notification.data ?? {}
  if (token && (event.action === 'approve' || event.action === 'deny')) {
    event.waitUntil(answer(event.notification, event.action === 'approve'))
    return
  }
  event.notification.close()
  event.waitUntil(open(id ? `/r/${id}` : '/'))
})

// Answers with the token of the message and the sign-in of this browser. The hub refuses it once the request
// is settled or changed; the notification is replaced by its reason. Without a sign-in, the request opens.
async function answer(notification, permission) {
  const { id, token } = notification.data
  let why = 'The hub can’t be reached.'
  try {
    const reply = await fetch(`/hitl/${id}/vote`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ token, permission }),
    })
    if (reply.ok) return notification.close()
    if (reply.status === 401) {
      notification.close()
      return await open(`/r/${id}`)
    }
    const problem = await reply.json().catch(() => ({}))
    why = [problem.detail, problem.hint].filter(Boolean).join(' ') || `Status ${reply.status}`
  } catch {
    // offline
  }
  await self.registration.showNotification('Your answer was not sent', {
    tag: notification.tag,
    body: why,
    data: { id },
    icon: '/icon-192.png',
    badge: '/icon-192.png',
  })
}

// Opens the path in an open tab if possible, else in a new one.
async function open(path) {
  const pages = await self.clients.matchAll({ type: 'window' })
  for (const page of pages) {
    try {
      await page.focus()
      await page.navigate(path)
      return
    } catch {
      // try the next tab
    }
  }
  await self.clients.openWindow(path)
}
