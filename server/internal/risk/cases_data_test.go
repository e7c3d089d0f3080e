package risk

var databaseCases = []commandCase{
	{`psql "$STAGING_URL" -c 'DROP TABLE orders_old'`, []string{
		"high drop_data: DROP TABLE orders_old",
	}},
	{"psql -c 'TRUNCATE orders'", []string{
		"high drop_data: TRUNCATE orders",
	}},
	{"psql -c 'DELETE FROM orders'", []string{
		"high drop_data: DELETE FROM orders",
	}},
	{"psql -c 'delete from orders; select 1'", []string{
		"high drop_data: delete from orders",
	}},
	{`psql -c "UPDATE users SET admin = true"`, []string{
		"high drop_data: UPDATE users SET admin = true",
	}},
	{"mysql -e 'DROP DATABASE shop'", []string{
		"high drop_data: DROP DATABASE shop",
	}},
	{"sqlite3 app.db 'drop table users'", []string{
		"high drop_data: drop table users",
	}},
	{"echo 'DROP TABLE x;' | psql", []string{
		"high drop_data: DROP TABLE x",
	}},
	{"psql <<EOF\nBEGIN;\nDROP TABLE x;\nCOMMIT;\nEOF", []string{
		"high drop_data: DROP TABLE x",
	}},
	{"psql -c 'ALTER TABLE users DROP COLUMN email'", []string{
		"high drop_data: ALTER TABLE users DROP COLUMN email",
	}},
	{"redis-cli FLUSHALL", []string{
		"high drop_data: redis-cli FLUSHALL",
	}},
	{"dropdb shop", []string{
		"high drop_data: dropdb shop",
	}},
	{"mongosh --eval 'db.dropDatabase()'", []string{
		"high drop_data: mongosh --eval 'db.dropDatabase()'",
	}},
	{"rails db:drop", []string{
		"high drop_data: rails db:drop",
	}},
	{"npx prisma migrate reset --force", []string{
		"high drop_data: prisma migrate reset --force",
		"medium install: npx prisma migrate reset --force",
	}},
	{"php artisan migrate:fresh", []string{
		"high drop_data: php artisan migrate:fresh",
	}},
	{"docker compose down -v", []string{
		"high drop_data: docker compose down -v",
	}},
	{"docker volume rm data", []string{
		"high drop_data: docker volume rm data",
	}},
	{"python manage.py flush", []string{
		"high drop_data: python manage.py flush",
	}},
}
