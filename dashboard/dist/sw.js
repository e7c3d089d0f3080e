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
  await self.registration.showNotification(String(message.title || 'A request is waiting'), {
    tag,
    data: { id },
    icon: '/icon-192.png',
    badge: '/icon-192.png',
    silent: message.settled === true,
    renotify: message.settled !== true,
    requireInteraction: message.settled !== true,
  })
  if (message.settled !== true) return
  for (const shown of await self.registration.getNotifications({ tag })) shown.close()
}

self.addEventListener('notificationclick', (event) => {
  event.notification.close()
  event.waitUntil(open(event.notification.data?.id ? `/r/${event.notification.data.id}` : '/'))
})

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
