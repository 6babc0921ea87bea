package jobs_test

func testWorker([]string) int { return 0 }
