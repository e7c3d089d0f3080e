package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// pair is two hubs with one PostgreSQL database. Each reaches it through its own proxy.
type pair struct {
	postgres *postgresServer
	hubs     [2]*hubProcess
	proxies  [2]*proxy
	balancer *proxy // in front of one of the hubs
}

// pairDatabase is the name of the database.
const pairDatabase = "hookback"

// startPair starts the server and both hubs. The caller stops them.
func (w workspace) startPair(ctx context.Context) (p *pair, err error) {
	if err := os.MkdirAll(w.dir, 0o700); err != nil {
		return nil, err
	}
	p = &pair{}
	if p.postgres, err = startPostgres(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.stop())
		}
	}()
	if _, err := p.postgres.query(ctx, "postgres", "CREATE DATABASE "+pairDatabase); err != nil {
		return nil, err
	}
	if p.balancer, err = newProxy(""); err != nil {
		return nil, err
	}
	for i := range p.hubs {
		if p.proxies[i], err = newProxy(p.postgres.addr); err != nil {
			return nil, err
		}
		if p.hubs[i], err = newHubProcess(w.bin, p.postgres.dsn(p.proxies[i].addr(), pairDatabase)); err != nil {
			return nil, err
		}
		p.hubs[i].args = []string{"-allow-host", p.balancer.addr()}
		data := filepath.Join(w.dir, "data") // of both: they share the key
		p.hubs[i].env, p.hubs[i].dir = []string{"XDG_DATA_HOME=" + data}, filepath.Join(data, "hookback")
	}
	return p, errors.Join(p.hubs[0].start(ctx), p.hubs[1].start(ctx))
}

// stop stops everything. It fails if a hub does.
func (p *pair) stop() (err error) {
	for _, hub := range p.hubs {
		if hub != nil {
			err = errors.Join(err, hub.stop())
		}
	}
	for _, proxy := range append(p.proxies[:], p.balancer) {
		if proxy != nil {
			err = errors.Join(err, proxy.close())
		}
	}
	return errors.Join(err, p.postgres.remove())
}

// verifyLog fails if the log has a gap or a number twice, a question ended twice, or the counters differ
// from the rows.
func (p *pair) verifyLog(ctx context.Context) error {
	const query = `WITH log AS (SELECT seq FROM events UNION ALL SELECT seq FROM changes)
		SELECT count(*) = head AND count(DISTINCT seq) = head AND coalesce(min(seq), 1) = 1 AND coalesce(max(seq), 0) = head
			AND (SELECT count(*) FROM events) = events, (SELECT count(*) FROM (SELECT question FROM changes WHERE ends GROUP BY question HAVING count(*) > 1) AS twice), head
		FROM log, streams GROUP BY head, events`
	found, err := p.postgres.query(ctx, pairDatabase, query)
	if err == nil && !strings.HasPrefix(found, "t|0|") {
		err = fmt.Errorf("the log is not dense, or questions ended twice (dense|twice|head): %s", found)
	}
	return err
}
