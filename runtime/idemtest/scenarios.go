package idemtest

// scenarios are the suite. The numbers of effects are those of the catalogue of what goes wrong.
func scenarios[Tx any]() []scenario[Tx] {
	type f = fixture[Tx]
	tx := []Need{NeedTransactions}
	with := func(more ...Need) []Need { return append([]Need{NeedTransactions}, more...) }
	faulty := Setup{Faults: true}
	return []scenario[Tx]{
		{promise: "1", name: "one key at once by two guards", needs: tx, levels: true, run: (*f).oneKeyAtOnce},
		{promise: "1", name: "effects 32 many keys, deliveries and mishaps", needs: tx, run: (*f).mishaps},
		{promise: "1", name: "effects 04 two handlers of one event", needs: tx, run: (*f).twoHandlers},

		{promise: "2", name: "effects 30 the same result", modes: true, run: (*f).sameResult},
		{promise: "2", name: "effects 05 the attempt is no part of the key", modes: true, run: (*f).noise},
		{promise: "2", name: "a codec that writes nothing", modes: true, run: (*f).emptyResult},

		{promise: "3", name: "effects 08 the winner rolls back", needs: tx, levels: true, run: (*f).winnerRollsBack},
		{promise: "3", name: "effects 09 10 11 the winner commits", needs: tx, levels: true, run: (*f).winnerCommits},
		{promise: "3", name: "effects 12 three rivals, the first rolls back", needs: tx, levels: true, run: (*f).firstOfThreeRollsBack},

		{promise: "4", name: "effects 18 the wait is bounded", needs: tx, levels: true, run: (*f).waitIsBounded},
		{promise: "4", name: "effects 18 no wait", needs: tx, levels: true, run: (*f).noWait},
		{promise: "4", name: "effects 18 the wait ends with the context", needs: tx, run: (*f).waitEndsWithContext},
		{promise: "4", name: "effects 18 another key does not wait", needs: with(NeedRowLocks), run: (*f).otherKeyGoesOn},

		{promise: "5", name: "effects 19 33 the handler fails", needs: tx, run: (*f).handlerFails},
		{promise: "5", name: "effects 19 the context is over", needs: tx, run: (*f).contextOver},

		{promise: "6", name: "killed in the transaction", needs: with(NeedProcesses), run: (*f).killedInTransaction},
		{promise: "6", name: "effects 32 killed after the commit", needs: with(NeedProcesses), run: (*f).killedAfterCommit},

		{promise: "7", name: "effects 15 a swallowed error", needs: with(NeedAborts), levels: true, run: (*f).swallowed},
		{promise: "7", name: "effects 15 an error that a savepoint has undone", needs: with(NeedAborts), run: (*f).undoneBySavepoint},
		{promise: "7", name: "effects 15 an error that the engine undoes alone", needs: with(NeedSurvives), run: (*f).undoneAlone},

		{promise: "8", name: "effects 16 it took place", needs: with(NeedCommitFaults), setup: faulty, run: (*f).commitLost},
		{promise: "8", name: "effects 16 it did not arrive", needs: with(NeedCommitFaults), setup: faulty, run: (*f).commitBroken},
		{promise: "8", name: "effects 16 it did not arrive and a rival waits", needs: with(NeedCommitFaults), setup: faulty, run: (*f).commitBrokenBeforeARival},
		{promise: "8", name: "effects 16 the caller is gone", needs: with(NeedCommitFaults), setup: faulty, run: (*f).commitCallerGone},
		{promise: "8", name: "effects 16 over an expired row it took place", needs: with(NeedCommitFaults), setup: faulty, run: (*f).commitLostOverExpired},
		{promise: "8", name: "effects 16 over an expired row it did not arrive", needs: with(NeedCommitFaults), setup: faulty, run: (*f).commitBrokenOverExpired},
		{promise: "8", name: "effects 16 it is still on its way", needs: with(NeedHeldCommit), setup: faulty, run: (*f).commitHeld},
		{promise: "8", name: "effects 16 it does not end in time", needs: with(NeedHeldCommit), setup: faulty, run: (*f).commitUnknown},

		{promise: "9", name: "effects 10 retries are bounded", needs: tx, levels: true, run: (*f).retriesAreBounded},
		{promise: "9", name: "effects 10 12 handlers that write the same rows", needs: tx, levels: true, run: (*f).conflicts},

		{promise: "10", name: "effects 01 a zero key", modes: true, run: (*f).zeroKey},

		{promise: "11", name: "effects 06 13 keys of any bytes", modes: true, run: (*f).keysOfAnyBytes},

		{promise: "12", name: "effects 07 another amount", modes: true, run: (*f).otherAmount},

		{promise: "13", name: "effects 28 over the limit", modes: true, run: (*f).overTheLimit},
		{promise: "13", name: "effects 29 no longer decodes", modes: true, run: (*f).noLongerDecodes},
		{promise: "13", name: "effects 30 does not encode", needs: tx, run: (*f).doesNotEncode},
		{promise: "13", name: "effects 30 of a lease does not encode", run: (*f).leaseDoesNotEncode},

		{promise: "14", name: "effects 24 windows", modes: true, run: (*f).windows},
		{promise: "14", name: "effects 24 the window begins when the run ends", modes: true, run: (*f).windowFromTheEnd},
		{promise: "14", name: "effects 24 expired", modes: true, run: (*f).expired},
		{promise: "14", name: "effects 24 the run knows how often the key has changed hands", modes: true, run: (*f).fenceIsTold},
		{promise: "14", name: "effects 24 rivals for an expired row", needs: tx, levels: true, run: (*f).rivalsForExpired},
		{promise: "14", name: "effects 25 a time zone", modes: true, needs: []Need{NeedZones}, setup: Setup{Zone: "+12:45"}, run: (*f).windows},

		{promise: "15", name: "effects 14 a rival that commits", needs: with(NeedLanguages), setup: faulty, levels: true, run: (*f).foreignCommit},
		{promise: "15", name: "effects 14 a rival that stays", needs: with(NeedLanguages), setup: faulty, levels: true, run: (*f).foreignWait},
		{promise: "15", name: "effects 14 a conflict", needs: with(NeedLanguages), setup: faulty, run: (*f).foreignConflict},

		{promise: "16", name: "a new event and a repeat", needs: with(NeedRoundTrips), setup: Setup{Alone: true}, run: (*f).roundTrips},

		{promise: "17", name: "effects 33 recorded", modes: true, run: (*f).permanent},
		{promise: "17", name: "effects 33 a text of any bytes", modes: true, run: (*f).permanentText},
		{promise: "17", name: "effects 33 the context is over", needs: tx, run: (*f).permanentTooLate},
		{promise: "17", name: "effects 33 a rival gets it", needs: tx, run: (*f).permanentRival},

		{promise: "18", name: "after the commit", needs: tx, run: (*f).afterCommit},
		{promise: "18", name: "after a commit that was found out", needs: with(NeedCommitFaults), setup: faulty, run: (*f).afterLostCommit},

		{promise: "19", name: "all is well", run: (*f).checked},
		{promise: "19", name: "no table", needs: []Need{NeedTable}, run: (*f).noTable},
		{promise: "19", name: "an older table", needs: []Need{NeedTable}, run: (*f).olderTable},
		{promise: "19", name: "another table", needs: []Need{NeedTable}, run: (*f).otherTable},
		{promise: "19", name: "no permission", needs: []Need{NeedPermissions}, setup: Setup{Nobody: true}, run: (*f).noPermission},

		{promise: "20", name: "marked", modes: true, run: (*f).marked},

		{promise: "21", name: "what goes", run: (*f).whatGoes},
		{promise: "21", name: "effects 26 two janitors and deliveries", modes: true, run: (*f).janitors},
		{promise: "21", name: "what is taken over is skipped", needs: with(NeedRowLocks), run: (*f).janitorSkips},
		{promise: "21", name: "effects 27 swept between claim and look-up", needs: tx, setup: faulty, levels: true, run: (*f).sweptBetween},

		{promise: "22", name: "shares the caller's fate", needs: tx, run: (*f).joins},
		{promise: "22", name: "a failed handler is undone alone", needs: tx, run: (*f).joinedFails},
		{promise: "22", name: "a key twice", needs: tx, run: (*f).joinedTwice},
		{promise: "22", name: "effects 33 a permanent failure", needs: tx, run: (*f).joinedPermanent},

		{promise: "L1", name: "one key at once by two guards", run: (*f).leaseAtOnce},
		{promise: "L1", name: "effects 32 many keys, deliveries and mishaps", run: (*f).leaseMishaps},
		{promise: "L2", name: "effects 22 a run longer than its lease", run: (*f).leaseRenewed},
		{promise: "L3", name: "effects 23 taken over", run: (*f).leaseTakenOver},
		{promise: "L3", name: "effects 23 parked", run: (*f).leaseParked},
		{promise: "L3", name: "effects 23 renewed at the last moment", setup: faulty, run: (*f).leaseRenewedInTime},
		{promise: "L3", name: "effects 23 killed", needs: []Need{NeedProcesses}, run: (*f).leaseKilled},
		{promise: "L4", name: "effects 22 neither completes, releases nor records", run: (*f).lateOwner},
		{promise: "L4", name: "effects 22 nor when another has ended", run: (*f).lateOwnerOfAnEnd},
		{promise: "L4", name: "effects 22 nor when the row was deleted", run: (*f).lateOwnerOfANewRow},
		{promise: "L4", name: "effects 22 a run that stops for it", run: (*f).leaseLostAndToldSo},
		{promise: "L5", name: "effects 22 a renewal says so", run: (*f).leaseLostByRenewal},
		{promise: "L5", name: "effects 22 the row was deleted and came again", run: (*f).leaseLostToANewRow},
		{promise: "L5", name: "effects 22 the database does not answer", run: (*f).leaseLostByClock},
		{promise: "L6", name: "effects 19 33 the handler fails", run: (*f).leaseFails},
		{promise: "L6", name: "effects 33 a permanent failure too late", run: (*f).leasePermanentTooLate},
		{promise: "L7", name: "the caller is gone", run: (*f).leaseCallerGone},
		{promise: "L7", name: "effects 16 an answer that is lost", setup: faulty, run: (*f).leaseEndLost},
		{promise: "L8", name: "effects 18 another delivery waits and is told", run: (*f).leaseInProgress},
		{promise: "L8", name: "a handler that has a transaction since", needs: tx, run: (*f).leaseMetByTransaction},
		{promise: "L9", name: "effects 33 a released key keeps its payload", run: (*f).releasedKeepsPayload},
		{promise: "L9", name: "effects 24 a run over an expired row", run: (*f).leaseOverExpired},
		{promise: "L9", name: "the window counts from the end", run: (*f).leaseWindow},
		{promise: "L10", name: "a new event and a repeat", needs: []Need{NeedRoundTrips}, setup: Setup{Alone: true}, run: (*f).leaseRoundTrips},
		{promise: "L11", name: "effects 16 an answer that is lost", setup: faulty, run: (*f).leaseClaimLost},
		{promise: "L12", name: "effects 19 the context is over", run: (*f).leaseGivenUp},
		{promise: "L12", name: "effects 16 an answer that does not come in time", setup: faulty, run: (*f).leaseClaimAbandoned},
		{promise: "L14", name: "effects 16 an answer that is lost", setup: faulty, run: (*f).leaseMarkLost},
		{promise: "L15", name: "effects 23 a lease that has passed", run: (*f).leaseShadow},
	}
}
